// brotli_static: serves FILE.br, compressed beforehand, in place of FILE.
//
// As nginx's gzip_static does with FILE.gz: the media type is FILE's, length, ETag and time are those of
// FILE.br, and there are no ranges. Where there is no FILE.br nothing is changed: neither gzip nor Vary.
#include <cstddef>

#include "headers.hpp"
#include "module.hpp"
#include "options.hpp"

namespace brio::nginx {
namespace {

const ngx_str_t suffix = ngx_string(".br");

/// The path of FILE.br, with a NUL behind it; empty without memory.
ngx_str_t compressed_path(ngx_http_request_t* r) noexcept {
  ngx_str_t path = ngx_null_string;
  std::size_t root = 0;
  u_char* end = ngx_http_map_uri_to_path(r, &path, &root, suffix.len);
  if (end == nullptr) return ngx_null_string;
  end = ngx_cpymem(end, suffix.data, suffix.len);
  *end = '\0';
  path.len = static_cast<std::size_t>(end - path.data);
  return path;
}

ngx_uint_t level_of(ngx_err_t why) noexcept {
  switch (why) {
    case NGX_ENOENT:
    case NGX_ENOTDIR:
    case NGX_ENAMETOOLONG:
      return NGX_LOG_DEBUG;  // there is none
    case NGX_EACCES:
#if (NGX_HAVE_OPENAT)
    case NGX_EMLINK:
    case NGX_ELOOP:
#endif
      return NGX_LOG_ERR;
    default:
      return NGX_LOG_CRIT;
  }
}

/// Opens FILE.br. NGX_DECLINED when there is none that could be served.
ngx_int_t open_compressed(ngx_http_request_t* r, ngx_str_t& path,
                          ngx_open_file_info_t& file) noexcept {
  auto* core =
      static_cast<ngx_http_core_loc_conf_t*>(ngx_http_get_module_loc_conf(r, ngx_http_core_module));
  ngx_log_t* log = r->connection->log;
  file.read_ahead = core->read_ahead;
  file.directio = core->directio;
  file.valid = core->open_file_cache_valid;
  file.min_uses = core->open_file_cache_min_uses;
  file.errors = core->open_file_cache_errors != 0;
  file.events = core->open_file_cache_events != 0;
  if (ngx_http_set_disable_symlinks(r, core, &path, &file) != NGX_OK) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  if (ngx_open_cached_file(core->open_file_cache, &path, &file, r->pool) != NGX_OK) {
    if (file.err == 0) return NGX_HTTP_INTERNAL_SERVER_ERROR;
    if (const ngx_uint_t level = level_of(file.err); level != NGX_LOG_DEBUG) {
      ngx_log_error(level, log, file.err, "%s \"%s\" failed", file.failed, path.data);
    }
    return NGX_DECLINED;
  }
  if (file.is_dir) return NGX_DECLINED;
  if (!file.is_file || file.size == 0) {  // a brotli stream has one byte at least
    ngx_log_error(NGX_LOG_ERR, log, 0, "\"%s\" is %s", path.data,
                  file.is_file ? "empty" : "not a regular file");
    return NGX_DECLINED;
  }
  return NGX_OK;
}

ngx_int_t set_headers(ngx_http_request_t* r, const ngx_open_file_info_t& file) noexcept {
  r->headers_out.status = NGX_HTTP_OK;
  r->headers_out.content_length_n = file.size;
  r->headers_out.last_modified_time = file.mtime;
  if (ngx_http_set_etag(r) != NGX_OK || ngx_http_set_content_type(r) != NGX_OK) return NGX_ERROR;
  ngx_table_elt_t* encoding = prepare_encoding(r);
  if (encoding == nullptr) return NGX_ERROR;
  announce(r, encoding);
  return NGX_OK;
}

ngx_int_t send(ngx_http_request_t* r, const ngx_str_t& path,
               const ngx_open_file_info_t& file) noexcept {
  auto* b = static_cast<ngx_buf_t*>(ngx_calloc_buf(r->pool));
  auto* source = static_cast<ngx_file_t*>(ngx_pcalloc(r->pool, sizeof(ngx_file_t)));
  if (b == nullptr || source == nullptr || set_headers(r, file) != NGX_OK) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  const ngx_int_t result = ngx_http_send_header(r);
  if (result == NGX_ERROR || result > NGX_OK || r->header_only) return result;

  source->fd = file.fd;
  source->name = path;
  source->log = r->connection->log;
  source->directio = file.is_directio;
  b->file = source;
  b->file_pos = 0;
  b->file_last = file.size;
  b->in_file = 1;
  b->last_buf = 1;
  b->last_in_chain = 1;
  ngx_chain_t out = {b, nullptr};
  return ngx_http_output_filter(r, &out);
}

ngx_int_t handle(ngx_http_request_t* r) noexcept {
  const static_mode mode = options_of(r).static_files;
  if (mode == static_mode::off || r != r->main ||
      (r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) == 0 || r->uri.data[r->uri.len - 1] == '/') {
    return NGX_DECLINED;
  }
  auto* core =
      static_cast<ngx_http_core_loc_conf_t*>(ngx_http_get_module_loc_conf(r, ngx_http_core_module));
  const bool wanted = mode == static_mode::always || accepts_brotli(r);
  if (!wanted && !core->gzip_vary) return NGX_DECLINED;

  ngx_str_t path = compressed_path(r);
  if (path.len == 0) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  ngx_open_file_info_t file = {};
  if (const ngx_int_t outcome = open_compressed(r, path, file); outcome != NGX_OK) return outcome;
  if (mode == static_mode::on) vary_on_encoding(r);
  if (!wanted) return NGX_DECLINED;

  r->root_tested = !r->error_page;
  if (const ngx_int_t outcome = ngx_http_discard_request_body(r); outcome != NGX_OK) return outcome;
  r->connection->log->action = const_cast<char*>("sending response to client");
  return send(r, path, file);
}

}  // namespace

ngx_int_t install_static_handler(ngx_conf_t* cf) noexcept {
  auto* core = static_cast<ngx_http_core_main_conf_t*>(
      ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
  auto* handler = static_cast<ngx_http_handler_pt*>(
      ngx_array_push(&core->phases[NGX_HTTP_CONTENT_PHASE].handlers));
  if (handler == nullptr) return NGX_ERROR;
  *handler = handle;
  return NGX_OK;
}

}  // namespace brio::nginx
