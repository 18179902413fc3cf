// The module itself, for those who look up its contexts and configuration.
#pragma once

#include "ngx.hpp"

extern "C" {
extern ngx_module_t ngx_http_brio_module;
}

namespace brio::nginx {

/// Put the filters into nginx's chains, after the configuration has been read.
void install_header_filter() noexcept;
void install_body_filter() noexcept;

/// Makes brotli_static a handler of the content phase.
[[nodiscard]] ngx_int_t install_static_handler(ngx_conf_t* cf) noexcept;

/// Makes the variables known, before the configuration is read.
ngx_int_t add_variables(ngx_conf_t* cf) noexcept;

/// The filter after ours.
ngx_int_t next_body_filter(ngx_http_request_t* r, ngx_chain_t* chain) noexcept;

}  // namespace brio::nginx
