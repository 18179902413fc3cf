// An executor on one of nginx's thread pools.
//
// Each job travels in an ngx_thread_task_t of our own, so nothing that belongs to a request is ever
// seen by a thread. Everything is the worker process's main thread's, but what run() touches: the
// job, and the atomic that hands it back (nginx's own spinlock does too, but no tool can see that).
//
// One executor serves all locations that name its pool. It is made when the configuration is read
// and lives as long as that.
#pragma once

#include <atomic>

#include <brio/async/executor.hpp>

#include "ngx.hpp"

namespace brio::nginx {

class thread_executor {
 public:
  /// The pool is looked up later: it may be declared further down in the configuration.
  explicit thread_executor(const ngx_str_t& pool_name) noexcept : pool_name_(pool_name) {}
  thread_executor(const thread_executor&) = delete;
  thread_executor& operator=(const thread_executor&) = delete;

  /// This nginx was configured --with-threads: without, nothing but this may be called.
  [[nodiscard]] static bool available() noexcept { return ngx_thread_pool_get != nullptr; }

  /// Looks the pool up, in a configuration that has been read; false when there is none of that name.
  [[nodiscard]] bool find_pool(ngx_cycle_t* cycle) noexcept {
    pool_ = ngx_thread_pool_get(cycle, &pool_name_);
    return pool_ != nullptr;
  }

  /// Refuses when the pool's queue is full, and for a moment after that without asking again, since
  /// nginx writes an error line each time.
  submission submit(job& j) noexcept;
  [[nodiscard]] bool runs_inline() const noexcept { return false; }

  [[nodiscard]] const ngx_str_t& pool_name() const noexcept { return pool_name_; }

 private:
  struct carrier {
    ngx_thread_task_t task;
    thread_executor* home;
    job* load;
    std::atomic<bool> done;
    carrier* next;
  };

  /// How long it does not ask a full pool again, in milliseconds: twice as long each time.
  static constexpr ngx_msec_t shortest_pause = 10;
  static constexpr ngx_msec_t longest_pause = 1000;

  [[nodiscard]] carrier* take_carrier() noexcept;
  static void run(void* data, ngx_log_t* log) noexcept;
  static void complete(ngx_event_t* event) noexcept;

  ngx_str_t pool_name_;
  ngx_thread_pool_t* pool_ = nullptr;
  carrier* unused_ = nullptr;
  ngx_msec_t pause_ = 0;
  ngx_msec_t refused_at_ = 0;
};

static_assert(executor<thread_executor>);

}  // namespace brio::nginx
