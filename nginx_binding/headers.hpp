// The header fields that brio reads and writes.
#pragma once

#include <string_view>

#include "ngx.hpp"

namespace brio::nginx {

[[nodiscard]] inline std::string_view text_of(const ngx_str_t& s) noexcept {
  return {reinterpret_cast<const char*>(s.data), s.len};
}

/// Equal but for case.
[[nodiscard]] bool same_token(std::string_view one, std::string_view other) noexcept;

/// Calls f with the value of each line of the request's field `name` (in lower case), in order. nginx itself
/// keeps only the first one of most fields before 1.23.
template <class F>
void for_each_header(ngx_http_request_t* r, std::string_view name, F f) {
  for (const ngx_list_part_t* part = &r->headers_in.headers.part; part != nullptr;
       part = part->next) {
    const auto* lines = static_cast<const ngx_table_elt_t*>(part->elts);
    for (ngx_uint_t i = 0; i < part->nelts; ++i) {
      const ngx_table_elt_t& line = lines[i];
      if (line.key.len != name.size() ||
          ngx_strncmp(line.lowcase_key, name.data(), name.size()) != 0) {
        continue;
      }
      f(text_of(line.value));
    }
  }
}

/// Calls f with the value of each line of the response's field `name`, in order.
template <class F>
void for_each_response_header(ngx_http_request_t* r, std::string_view name, F f) {
  for (const ngx_list_part_t* part = &r->headers_out.headers.part; part != nullptr;
       part = part->next) {
    const auto* lines = static_cast<const ngx_table_elt_t*>(part->elts);
    for (ngx_uint_t i = 0; i < part->nelts; ++i) {
      const ngx_table_elt_t& line = lines[i];
      if (line.hash != 0 && same_token(text_of(line.key), name)) f(text_of(line.value));
    }
  }
}

/// The comma-separated list `line` has the member `token`; one with an argument is another.
[[nodiscard]] bool lists(std::string_view line, std::string_view token) noexcept;

/// The client takes br.
[[nodiscard]] bool accepts_brotli(ngx_http_request_t* r) noexcept;

/// Adds a "Content-Encoding: br" that is not sent before announce(); nullptr without memory.
[[nodiscard]] ngx_table_elt_t* prepare_encoding(ngx_http_request_t* r) noexcept;

/// The response is coded as prepared: gzip leaves it alone.
void announce(ngx_http_request_t* r, ngx_table_elt_t* encoding) noexcept;

/// What is sent depends on Accept-Encoding. nginx says so where `gzip_vary` is on; one that was built
/// without gzip has no such directive and never does.
void vary_on_encoding(ngx_http_request_t* r) noexcept;
[[nodiscard]] bool says_vary(ngx_http_request_t* r) noexcept;

}  // namespace brio::nginx
