// The module's table of contents: directives (options), the two filters and the variables.
#include "module.hpp"

#include "options.hpp"
#include "shared_load.hpp"

namespace brio::nginx {
namespace {

ngx_int_t install(ngx_conf_t* cf) noexcept {
  install_header_filter();
  install_body_filter();
  return shared_load::add_zone(cf);
}

ngx_int_t start_process(ngx_cycle_t*) noexcept {
  shared_load::reset();
  return NGX_OK;
}

void end_process(ngx_cycle_t*) noexcept { shared_load::reset(); }

ngx_http_module_t context = {
    add_variables,            // preconfiguration
    install,                  // postconfiguration
    create_main_options,      // create main configuration
    init_main_options,        // init main configuration
    nullptr,                  // create server configuration
    nullptr,                  // merge server configuration
    create_location_options,  // create location configuration
    merge_location_options,   // merge location configuration
};

}  // namespace
}  // namespace brio::nginx

extern "C" {

ngx_module_t ngx_http_brio_module = {
    NGX_MODULE_V1,
    &brio::nginx::context,
    brio::nginx::commands,
    NGX_HTTP_MODULE,
    nullptr,  // init master
    nullptr,  // init module
    brio::nginx::start_process,
    nullptr,  // init thread
    nullptr,  // exit thread
    brio::nginx::end_process,
    nullptr,  // exit master
    NGX_MODULE_V1_PADDING,
};
}
