// What brio keeps in each worker process: the engine, and the executor of locations without a pool.
#pragma once

#include <brio/async/inline_executor.hpp>
#include <brio/engine.hpp>

#include <cstdint>

#include "ngx.hpp"
#include "shared_load.hpp"

namespace brio::nginx {

struct main_options;

class worker {
 public:
  /// This process's, made when first asked for; nullptr when there is no memory.
  [[nodiscard]] static worker* get() noexcept;

  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  [[nodiscard]] brio::engine& engine() noexcept { return engine_; }
  [[nodiscard]] inline_executor& in_event_loop() noexcept { return in_event_loop_; }

  /// A response has ended. Memory kept for the next one goes back to the system once no step has run
  /// for a while.
  void response_ended() noexcept;

 private:
  /// How long nothing must have run, in milliseconds.
  static constexpr ngx_msec_t idle_time = 2000;

  explicit worker(const main_options& o) noexcept;
  ~worker() = delete;  // threads may still have its memory when the process exits

  static void on_timer(ngx_event_t* event) noexcept;

  shared_load load_;
  brio::engine engine_;
  inline_executor in_event_loop_;
  ngx_event_t idle_timer_{};
  std::uint64_t steps_seen_ = 0;
};

}  // namespace brio::nginx
