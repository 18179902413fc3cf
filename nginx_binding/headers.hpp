// The header lines of a request.
#pragma once

#include <string_view>

#include "ngx.hpp"

namespace brio::nginx {

/// Calls f with the value of each line of the field `name` (in lower case), in order. nginx itself
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
      f(std::string_view(reinterpret_cast<const char*>(line.value.data), line.value.len));
    }
  }
}

}  // namespace brio::nginx
