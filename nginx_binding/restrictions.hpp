// What keeps a response that could be compressed as it is: answers to proxies that brotli_proxied
// leaves out, and with brotli_no_transform those that say "no-transform".
#pragma once

#include "ngx.hpp"

namespace brio::nginx {

/// A value of brotli_proxied: they mean what those of nginx's gzip_proxied do.
struct proxied_choice {
  ngx_str_t name;
  ngx_uint_t bit;
};

/// Bits of location_options::proxied, 0 while it has not been set.
namespace proxied {
inline constexpr ngx_uint_t off = 0x001;
inline constexpr ngx_uint_t expired = 0x002;
inline constexpr ngx_uint_t no_cache = 0x004;
inline constexpr ngx_uint_t no_store = 0x008;
inline constexpr ngx_uint_t private_ = 0x010;
inline constexpr ngx_uint_t no_last_modified = 0x020;
inline constexpr ngx_uint_t no_etag = 0x040;
inline constexpr ngx_uint_t auth = 0x080;
inline constexpr ngx_uint_t any = 0x100;
}  // namespace proxied

/// The response says "Cache-Control: no-transform".
[[nodiscard]] bool forbids_transforming(ngx_http_request_t* r) noexcept;

/// A proxy asks, and this response is of none of the kinds that proxies get compressed.
[[nodiscard]] bool denied_to_proxy(ngx_http_request_t* r, ngx_uint_t allowed_kinds) noexcept;

}  // namespace brio::nginx
