// Decides whether a response is compressed, and makes its headers say so.
//
// The conditions and their order are google/ngx_brotli's, so that a configuration means the same,
// with three differences: Accept-Encoding is read as RFC 9110 has it, ranges of a sliced response stay
// ranges, and a response that there is no memory for goes out as it is.
#include "headers.hpp"
#include "module.hpp"
#include "options.hpp"
#include "request.hpp"
#include "restrictions.hpp"

namespace brio::nginx {
namespace {

ngx_http_output_header_filter_pt next_filter;

bool compressible(ngx_http_request_t* r, const location_options& o) noexcept {
  const ngx_http_headers_out_t& h = r->headers_out;
  if (!o.enabled || r->header_only) return false;
  if (h.status != NGX_HTTP_OK && h.status != NGX_HTTP_FORBIDDEN && h.status != NGX_HTTP_NOT_FOUND) {
    return false;
  }
  if (h.content_encoding != nullptr && h.content_encoding->value.len > 0) return false;
  if (h.content_length_n != -1 && h.content_length_n < o.min_length) return false;
  return ngx_http_test_content_type(r, const_cast<ngx_hash_t*>(&o.types)) != nullptr;
}

/// What comes is only the part of the body that a range was asked of (slice): it must reach the range
/// filter as it is.
bool partial(const ngx_http_request_t* r) noexcept {
  return r->subrequest_ranges && r->headers_in.range != nullptr;
}

ngx_int_t filter(ngx_http_request_t* r) noexcept {
  const location_options& o = options_of(r);
  if (!compressible(r, o)) return next_filter(r);
  if (o.no_transform && forbids_transforming(r)) return next_filter(r);
  vary_on_encoding(r);
  if (r != r->main || partial(r) || denied_to_proxy(r, o.proxied) || !accepts_brotli(r)) {
    return next_filter(r);
  }

  ngx_table_elt_t* encoding = prepare_encoding(r);
  if (encoding == nullptr) return NGX_ERROR;
  if (request::create(r, o) == nullptr) return next_filter(r);
  announce(r, encoding);

  r->main_filter_need_in_memory = 1;
  ngx_http_clear_content_length(r);
  ngx_http_clear_accept_ranges(r);
  ngx_http_weak_etag(r);
  return next_filter(r);
}

}  // namespace

void install_header_filter() noexcept {
  next_filter = ngx_http_top_header_filter;
  ngx_http_top_header_filter = filter;
}

}  // namespace brio::nginx
