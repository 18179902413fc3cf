// What nginx counts, flags or schedules for us, each held by a guard: its scope is the reason.
//
// There is none for `r->main->blocked`, and no need: that count keeps a request's memory while a
// thread may touch it, and no thread ever touches a request's. Steps work on memory of the engine,
// which outlives the request by as long as the step takes.
#pragma once

#include "ngx.hpp"

namespace brio::nginx {

/// Our bit in ngx_connection_t::buffered. The core uses 0x3f, and 0x20 belongs to gzip.
inline constexpr unsigned buffered_bit = 0x40;

/// An event of ours; it leaves nginx's queues and timers with us.
class event_guard {
 public:
  event_guard(ngx_event_handler_pt handler, void* data, ngx_log_t* log) noexcept {
    event_.handler = handler;
    event_.data = data;
    event_.log = log;
  }
  event_guard(const event_guard&) = delete;
  event_guard& operator=(const event_guard&) = delete;
  ~event_guard() { cancel(); }

  /// Has the handler called once the events at hand have been worked off.
  void post() noexcept {
    if (!event_.posted) {
      ngx_post_event(&event_, &ngx_posted_events);
    }
  }
  /// Has the handler called in `time` milliseconds, unless it is going to be already.
  void start_timer(ngx_msec_t time) noexcept {
    if (!event_.timer_set) ngx_add_timer(&event_, time);
  }
  void cancel() noexcept {
    if (event_.posted) {
      ngx_delete_posted_event(&event_);
    }
    if (event_.timer_set) ngx_del_timer(&event_);
  }

 private:
  ngx_event_t event_{};
};

/// While it lives the request is not finalized: there is something that has not been handed on yet.
/// The timer keeps a worker that is told to quit from leaving meanwhile (it waits for timers, not for
/// threads), and gives its owner a look at what no event will tell.
class buffered_guard {
 public:
  static constexpr ngx_msec_t tick = 200;  // milliseconds

  buffered_guard(ngx_connection_t* c, event_guard& timer) noexcept : connection_(c), timer_(timer) {
    renew();
    timer_.start_timer(tick);
  }
  buffered_guard(const buffered_guard&) = delete;
  buffered_guard& operator=(const buffered_guard&) = delete;
  ~buffered_guard() {
    connection_->buffered &= 0xffU & ~buffered_bit;
    timer_.cancel();
  }

  /// Sets the bit again, after another guard of the same connection has gone.
  void renew() noexcept { connection_->buffered |= buffered_bit; }

 private:
  ngx_connection_t* connection_;
  event_guard& timer_;
};

/// Something other than us holds output of this connection back.
[[nodiscard]] inline bool others_buffer(const ngx_connection_t* c) noexcept {
  return (c->buffered & ~buffered_bit) != 0;
}

}  // namespace brio::nginx
