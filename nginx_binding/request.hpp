// One compressed response: brio's response on one side, an nginx request on the other.
//
// Made in the header filter, in the request's pool; the pool's cleanup destroys it. Everything runs
// on the main thread:
//
//   filter()   the body filter has input, or asks to go on
//   wake       a posted event: steps have completed, and what they made must reach the client
//   tick       a timer, while output is owed: what no event tells
//
// Threads never see any of it. When the request ends early the response is dropped, and a step that
// is still running ends on memory of the engine.
#pragma once

#include <brio/brotli/encoder.hpp>
#include <brio/response.hpp>

#include <cstdint>
#include <optional>

#include "chains.hpp"
#include "guards.hpp"
#include "ngx.hpp"
#include "options.hpp"
#include "worker.hpp"

namespace brio::nginx {

class request {
 public:
  /// What is made for a response that is about to be compressed. nullptr when there is no memory;
  /// the response must then go out as it is.
  [[nodiscard]] static request* create(ngx_http_request_t* r, const location_options& o) noexcept;

  /// The one of this response, or nullptr when it is not compressed.
  [[nodiscard]] static request* of(ngx_http_request_t* r) noexcept;

  request(const request&) = delete;
  request& operator=(const request&) = delete;

  /// Takes `in`, or with nullptr goes on. NGX_AGAIN while something is owed, NGX_OK, or NGX_ERROR.
  ngx_int_t filter(ngx_chain_t* in) noexcept;

  /// The whole response has been compressed.
  [[nodiscard]] bool complete() const noexcept { return complete_; }
  [[nodiscard]] std::uint64_t bytes_in() const noexcept { return bytes_in_; }
  [[nodiscard]] std::uint64_t bytes_out() const noexcept { return bytes_out_; }

 private:
  using body = response<brotli::encoder>;

  request(ngx_http_request_t* r, worker& w) noexcept;
  ~request();

  static void on_wake(void* self) noexcept;
  static void on_wake_event(ngx_event_t* event) noexcept;
  static void on_tick_event(ngx_event_t* event) noexcept;
  static void on_terminate(void* self) noexcept;
  static void on_pool_destroyed(void* self) noexcept;

  /// nginx has given this request's contexts up (a redirect inside the server, post_action).
  [[nodiscard]] bool orphaned() const noexcept;
  /// Lets everything go: no event calls us any more.
  void stop() noexcept;

  /// Moves what can be moved in both directions.
  ngx_int_t pump() noexcept;
  ngx_int_t send() noexcept;
  [[nodiscard]] bool feed() noexcept;
  void take_marks(const ngx_buf_t& b) noexcept;
  ngx_int_t fail(ngx_uint_t level, const char* what) noexcept;

  /// Pumps outside of any call from nginx, and tells it.
  void go_on() noexcept;
  /// Nobody is to be timed out for our slowness.
  void keep_timers_back() noexcept;

  ngx_http_request_t* request_;
  worker& worker_;
  body body_;
  input_chain input_;
  output_chain output_;
  event_guard wake_;
  event_guard tick_;
  std::optional<buffered_guard> owed_;

  bool input_ended_ = false;
  bool failed_ = false;
  bool complete_ = false;
  std::uint64_t bytes_in_ = 0;
  std::uint64_t bytes_out_ = 0;
};

}  // namespace brio::nginx
