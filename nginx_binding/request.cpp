#include "request.hpp"

#include <cstddef>
#include <new>
#include <utility>

#include "faults.hpp"
#include "module.hpp"

namespace brio::nginx {

namespace {

/// The response goes out as it is.
std::nullptr_t not_now(ngx_http_request_t* r, error why) noexcept {
  const ngx_uint_t level = why == error::over_limit ? NGX_LOG_INFO : NGX_LOG_ERR;
  ngx_log_error(level, r->connection->log, 0, "brotli: %s, the response is sent uncompressed",
                message(why).data());
  return nullptr;
}

/// The client reset the connection before its request was read: nginx has had the event that says so.
/// One that has only ended its side may still read.
bool was_reset(ngx_connection_t* c) noexcept {
  int why = 0;
  socklen_t size = sizeof(why);
  return c->read->pending_eof && getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &why, &size) == 0 &&
         why != 0;
}

}  // namespace

request* request::create(ngx_http_request_t* r, const location_options& o) noexcept {
  worker* w = worker::get();
  if (w == nullptr) return not_now(r, error::out_of_memory);

  // The destructor is registered first, so that nothing can fail once there is something to destroy.
  ngx_pool_cleanup_t* at_end = ngx_pool_cleanup_add(r->pool, sizeof(request));
  ngx_http_cleanup_t* at_termination = ngx_http_cleanup_add(r, 0);
  if (at_end == nullptr || at_termination == nullptr) {
    return not_now(r, error::out_of_memory);
  }

  const off_t length = r->headers_out.content_length_n;
  body::options options;
  options.encoding = {static_cast<int>(o.level), static_cast<int>(o.window_bits)};
  if (length >= 0) options.length = static_cast<std::uint64_t>(length);
  options.cuts = {static_cast<unsigned>(o.tasks), static_cast<std::uint64_t>(o.segment_size),
                  o.fixed_cuts == 1};
  options.faults = faults_for(r);

  auto* self = new (at_end->data) request(r, *w);
  at_end->handler = on_pool_destroyed;

  // A short response costs less than the way to a thread and back, unless its level is dear.
  const bool cheap = length >= 0 && length < o.thread_pool_min_length && o.level <= cheap_level;
  const executor_ref executor =
      o.executor == nullptr || cheap ? executor_ref(w->in_event_loop()) : executor_ref(*o.executor);
  error why = error::none;
  self->body_ = body::create(w->engine(), executor, {on_wake, self}, options, &why);
  if (!self->body_) return not_now(r, why);

  at_termination->handler = on_terminate;
  at_termination->data = self;
  ngx_http_set_ctx(r, self, ngx_http_brio_module);
  return self;
}

request* request::of(ngx_http_request_t* r) noexcept {
  return static_cast<request*>(ngx_http_get_module_ctx(r, ngx_http_brio_module));
}

request::request(ngx_http_request_t* r, worker& w) noexcept
    : request_(r),
      worker_(w),
      input_(r->pool),
      output_(r->pool),
      wake_(on_wake_event, this, r->connection->log),
      tick_(on_tick_event, this, r->connection->log) {}

request::~request() { stop(); }

void request::on_pool_destroyed(void* self) noexcept { static_cast<request*>(self)->~request(); }

void request::on_terminate(void* self) noexcept { static_cast<request*>(self)->stop(); }

bool request::orphaned() const noexcept { return of(request_) != this; }

void request::stop() noexcept {
  owed_.reset();
  wake_.cancel();
  if (!body_) return;
  body_ = body();
  worker_.response_ended();
}

ngx_int_t request::filter(ngx_chain_t* in) noexcept {
  ngx_connection_t* c = request_->connection;
  if (failed_ || !body_ || c->error) return NGX_ERROR;
  if (in != nullptr) {
    if (!input_.add(in)) return fail(NGX_LOG_ERR, message(error::out_of_memory).data());
  } else if (output_.busy() || others_buffer(c)) {
    if (next_body_filter(request_, nullptr) == NGX_ERROR) return NGX_ERROR;
    output_.reap();
  }
  return pump();
}

ngx_int_t request::pump() noexcept {
  do {
    if (send() == NGX_ERROR) return NGX_ERROR;
  } while (feed());
  if (failed_) return NGX_ERROR;
  if (body_.failure() != error::none) return fail(NGX_LOG_ERR, message(body_.failure()).data());

  if (body_.pending() || !input_.empty()) {
    if (!owed_) {
      ngx_connection_t* c = request_->connection;
      owed_.emplace(c, tick_);
      if (was_reset(c)) {
        ngx_post_event(c->read, &ngx_posted_events);
      }
    }
    return NGX_AGAIN;
  }
  owed_.reset();
  return output_.busy() ? NGX_AGAIN : NGX_OK;
}

/// Hands on what has been compressed, until there is no more or the client takes no more.
ngx_int_t request::send() noexcept {
  for (;;) {
    const bool reuse_marks = !others_buffer(request_->connection);
    while (chunk piece = body_.take()) {
      complete_ = piece.last();
      if (!output_.add(std::move(piece), reuse_marks))
        return fail(NGX_LOG_ERR, message(error::out_of_memory).data());
    }
    bytes_in_ = body_.bytes_in();
    bytes_out_ = body_.bytes_out();
    ngx_chain_t* out = output_.take_new();
    if (out == nullptr) return NGX_OK;
    // Whoever asks for our bit in between must find it as it will be.
    if (!body_.pending() && input_.empty()) owed_.reset();
    if (next_body_filter(request_, out) == NGX_ERROR) return NGX_ERROR;
    output_.reap();
  }
}

/// Gives the engine what it takes. True when that was anything.
bool request::feed() noexcept {
  bool fed = false;
  while (!input_.empty()) {
    if (!input_.readable()) {
      (void)fail(NGX_LOG_ALERT, "a buffer is not in memory");
      return false;
    }
    const std::span<const std::byte> bytes = input_.bytes();
    if (!input_ended_ && !bytes.empty()) {
      const std::size_t taken = body_.write(bytes);
      input_.consume(taken);
      fed = fed || taken > 0;
      if (taken < bytes.size()) return fed;
    } else {
      input_.consume(bytes.size());
    }
    take_marks(input_.front());
    input_.pop();
    fed = true;
  }
  return fed;
}

void request::take_marks(const ngx_buf_t& b) noexcept {
  if (input_ended_) return;
  if (b.last_buf) {
    input_ended_ = true;
    body_.finish();
  } else if (b.flush) {
    body_.flush();
  }
}

ngx_int_t request::fail(ngx_uint_t level, const char* what) noexcept {
  if (!failed_) {
    failed_ = true;
    ngx_log_error(level, request_->connection->log, 0, "brotli: %s, the response is cut short",
                  what);
    body_.cancel();
  }
  owed_.reset();
  return NGX_ERROR;
}

/// The engine has something for us; it says so at most once until we look.
void request::on_wake(void* self) noexcept { static_cast<request*>(self)->wake_.post(); }

void request::on_wake_event(ngx_event_t* event) noexcept {
  static_cast<request*>(event->data)->go_on();
}

void request::on_tick_event(ngx_event_t* event) noexcept {
  event->timedout = 0;
  auto* self = static_cast<request*>(event->data);
  ngx_event_t* write = self->request_->connection->write;
  // Nothing else calls the filters while an upstream is read and has nothing new.
  const bool look = self->orphaned() || (self->output_.busy() && write->ready && !write->delayed);
  self->keep_timers_back();
  self->tick_.start_timer(buffered_guard::tick);
  if (look) self->go_on();
}

void request::keep_timers_back() noexcept {
  ngx_connection_t* c = request_->connection;
  ngx_event_t* write = c->write;
  if (!output_.busy() && !others_buffer(c) && !write->delayed && write->timer_set) {
    auto* core = static_cast<ngx_http_core_loc_conf_t*>(
        ngx_http_get_module_loc_conf(request_, ngx_http_core_module));
    ngx_del_timer(write);
    ngx_add_timer(write, core->send_timeout);
  }
  // An upstream that is not read because we hold its buffers has not gone quiet.
  auto* active = static_cast<ngx_http_request_t*>(c->data);
  ngx_http_upstream_t* upstream = active->upstream;
  if (!input_.empty() && upstream != nullptr && upstream->peer.connection != nullptr) {
    ngx_event_t* read = upstream->peer.connection->read;
    if (read->timer_set && !read->delayed) {
      ngx_del_timer(read);
      ngx_add_timer(read, upstream->conf->read_timeout);
    }
  }
}

void request::go_on() noexcept {
  ngx_connection_t* c = request_->connection;
  ngx_http_set_log_request(c->log, request_);
  if (orphaned()) {
    stop();
    if (request* heir = of(request_); heir != nullptr && heir->owed_) heir->owed_->renew();
  } else if (filter(nullptr) == NGX_ERROR) {
    c->error = 1;
    // No caller sees the error here, so the connection's own handler must end the request.
    if (failed_) c->close = 1;
  }
  // Last: whatever waited for us may go on, and may end the request, and us with it.
  c->write->handler(c->write);
}

}  // namespace brio::nginx
