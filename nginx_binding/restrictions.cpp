#include "restrictions.hpp"

#include <string_view>

#include "headers.hpp"

namespace brio::nginx {
namespace {

/// The response's Cache-Control has this directive.
bool cache_control(ngx_http_request_t* r, std::string_view directive) noexcept {
  bool found = false;
  for_each_response_header(r, "cache-control",
                           [&](std::string_view line) { found = found || lists(line, directive); });
  return found;
}

time_t time_of(const ngx_table_elt_t* header, time_t otherwise) noexcept {
  if (header == nullptr) return otherwise;
  return ngx_parse_http_time(header->value.data, header->value.len);
}

/// Whether an answer to a proxy is compressed; the questions and their order are gzip_proxied's.
bool allowed(ngx_http_request_t* r, ngx_uint_t p) noexcept {
  const ngx_http_headers_out_t& out = r->headers_out;
  if ((p & proxied::off) != 0) return false;
  if ((p & proxied::any) != 0) return true;
  if ((p & proxied::auth) != 0 && r->headers_in.authorization != nullptr) return true;
  if (out.expires != nullptr) {
    const time_t expires = time_of(out.expires, NGX_ERROR);
    if ((p & proxied::expired) == 0 || expires == NGX_ERROR) return false;
    const time_t date = time_of(out.date, ngx_time());
    return date != NGX_ERROR && expires < date;
  }
  bool controlled = false;
  for_each_response_header(r, "cache-control", [&](std::string_view) { controlled = true; });
  if (controlled) {
    return ((p & proxied::no_cache) != 0 && cache_control(r, "no-cache")) ||
           ((p & proxied::no_store) != 0 && cache_control(r, "no-store")) ||
           ((p & proxied::private_) != 0 && cache_control(r, "private"));
  }
  return ((p & proxied::no_last_modified) == 0 || out.last_modified == nullptr) &&
         ((p & proxied::no_etag) == 0 || out.etag == nullptr);
}

/// Some proxy has sent the request.
bool comes_from_proxy(ngx_http_request_t* r) noexcept {
  bool via = false;
  for_each_header(r, "via", [&](std::string_view) { via = true; });
  return via;
}

}  // namespace

bool forbids_transforming(ngx_http_request_t* r) noexcept {
  return cache_control(r, "no-transform");
}

bool denied_to_proxy(ngx_http_request_t* r, ngx_uint_t allowed_kinds) noexcept {
  return comes_from_proxy(r) && !allowed(r, allowed_kinds);
}

}  // namespace brio::nginx
