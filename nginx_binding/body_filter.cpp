// Sends the bodies of compressed responses through their request; everything else passes.
#include "module.hpp"
#include "request.hpp"

namespace brio::nginx {
namespace {

ngx_http_output_body_filter_pt next_filter;

ngx_int_t filter(ngx_http_request_t* r, ngx_chain_t* in) noexcept {
  request* compressed = r == r->main && !r->header_only ? request::of(r) : nullptr;
  if (compressed != nullptr) return compressed->filter(in);
  // Only we hold anything back, for a context that is gone: it must end first.
  if (in == nullptr && r->connection->buffered == buffered_bit) return NGX_AGAIN;
  return next_filter(r, in);
}

}  // namespace

void install_body_filter() noexcept {
  next_filter = ngx_http_top_body_filter;
  ngx_http_top_body_filter = filter;
}

ngx_int_t next_body_filter(ngx_http_request_t* r, ngx_chain_t* chain) noexcept {
  return next_filter(r, chain);
}

}  // namespace brio::nginx
