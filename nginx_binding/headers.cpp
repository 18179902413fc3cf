#include "headers.hpp"

#include <brio/negotiate.hpp>

#include <algorithm>
#include <cstddef>

namespace brio::nginx {

bool same_token(std::string_view one, std::string_view other) noexcept {
  return std::ranges::equal(one, other,
                            [](char a, char b) { return ngx_tolower(a) == ngx_tolower(b); });
}

bool lists(std::string_view line, std::string_view token) noexcept {
  while (!line.empty()) {
    const std::size_t comma = line.find(',');
    std::string_view member = line.substr(0, comma);
    member.remove_prefix(std::min(member.find_first_not_of(" \t"), member.size()));
    member = member.substr(0, member.find_last_not_of(" \t") + 1);
    if (same_token(member, token)) return true;
    line.remove_prefix(comma == std::string_view::npos ? line.size() : comma + 1);
  }
  return false;
}

bool accepts_brotli(ngx_http_request_t* r) noexcept {
  accept_encoding br("br");
  for_each_header(r, "accept-encoding", [&br](std::string_view line) { br.add(line); });
  return br.accepted();
}

ngx_table_elt_t* prepare_encoding(ngx_http_request_t* r) noexcept {
  auto* encoding = static_cast<ngx_table_elt_t*>(ngx_list_push(&r->headers_out.headers));
  if (encoding == nullptr) return nullptr;
  encoding->hash = 0;
#if nginx_version >= 1023000
  encoding->next = nullptr;
#endif
  ngx_str_set(&encoding->key, "Content-Encoding");
  ngx_str_set(&encoding->value, "br");
  return encoding;
}

void announce(ngx_http_request_t* r, ngx_table_elt_t* encoding) noexcept {
  encoding->hash = 1;
  r->headers_out.content_encoding = encoding;
#if (NGX_HTTP_GZIP)
  r->gzip_tested = 1;
  r->gzip_ok = 0;
#endif
}

#if (NGX_HTTP_GZIP)

void vary_on_encoding(ngx_http_request_t* r) noexcept { r->gzip_vary = 1; }

bool says_vary(ngx_http_request_t* r) noexcept {
  const auto* core =
      static_cast<ngx_http_core_loc_conf_t*>(ngx_http_get_module_loc_conf(r, ngx_http_core_module));
  return core->gzip_vary != 0;
}

#else

void vary_on_encoding(ngx_http_request_t*) noexcept {}
bool says_vary(ngx_http_request_t*) noexcept { return false; }

#endif

}  // namespace brio::nginx
