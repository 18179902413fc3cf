// The module's table of contents: directives (options), the two filters, the handler of static files and
// the variables.
#include "module.hpp"

#include "options.hpp"
#include "shared_load.hpp"

namespace brio::nginx {
namespace {

/// Called when all of the configuration has been read; what fails here leaves the one before in force.
ngx_int_t open_zone(ngx_shm_zone_t* zone, void* before) noexcept {
  if (!find_thread_pools(*static_cast<main_options*>(zone->data))) return NGX_ERROR;
  zone->data = shared_load::open(zone->shm, before);
  return zone->data != nullptr ? NGX_OK : NGX_ERROR;
}

ngx_int_t install(ngx_conf_t* cf) noexcept {
  install_header_filter();
  install_body_filter();
  if (install_static_handler(cf) != NGX_OK) return NGX_ERROR;
  ngx_str_t name = ngx_string("brio");
  ngx_shm_zone_t* zone =
      ngx_shared_memory_add(cf, &name, shared_load::size(), &ngx_http_brio_module);
  if (zone == nullptr) return NGX_ERROR;
  zone->init = open_zone;
  zone->data = ngx_http_conf_get_module_main_conf(cf, ngx_http_brio_module);
  return NGX_OK;
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
