// Variables for the log.
#include "module.hpp"
#include "request.hpp"

namespace brio::nginx {
namespace {

/// $brotli_ratio: input to output, two decimals, rounded; there for complete responses only.
ngx_int_t ratio(ngx_http_request_t* r, ngx_http_variable_value_t* v, uintptr_t) noexcept {
  const request* compressed = request::of(r);
  v->valid = 1;
  v->no_cacheable = 0;
  v->not_found = 0;
  if (compressed == nullptr || !compressed->complete()) {
    v->not_found = 1;
    return NGX_OK;
  }
  v->data = static_cast<u_char*>(ngx_pnalloc(r->pool, NGX_INT64_LEN + 3));
  if (v->data == nullptr) return NGX_ERROR;
  const std::uint64_t in = compressed->bytes_in();
  const std::uint64_t out = compressed->bytes_out();
  const std::uint64_t hundredths = in * 100 / out + (in * 1000 / out % 10 > 4 ? 1 : 0);
  const u_char* end = ngx_sprintf(v->data, "%uL.%02uL", hundredths / 100, hundredths % 100);
  v->len = static_cast<unsigned>(end - v->data) & 0xfffffffU;
  return NGX_OK;
}

}  // namespace

ngx_int_t add_variables(ngx_conf_t* cf) noexcept {
  ngx_str_t name = ngx_string("brotli_ratio");
  ngx_http_variable_t* variable = ngx_http_add_variable(cf, &name, 0);
  if (variable == nullptr) return NGX_ERROR;
  variable->get_handler = ratio;
  return NGX_OK;
}

}  // namespace brio::nginx
