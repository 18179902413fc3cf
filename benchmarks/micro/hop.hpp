// What it costs to have an empty job run on another thread and to go on here: offload() on the thread
// pool, against the least that two threads need for it (a lock, a condition, a semaphore).
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <new>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include <brio/async/executor.hpp>
#include <brio/async/run_queue.hpp>
#include <brio/async/task.hpp>
#include <brio/async/thread_pool.hpp>

#include "pairs.hpp"

namespace brio::micro {

namespace detail {

/// A thread that answers each call of there_and_back().
class bare_thread {
 public:
  bare_thread() : thread_([this] { work(); }) {}
  bare_thread(const bare_thread&) = delete;
  bare_thread& operator=(const bare_thread&) = delete;
  ~bare_thread() {
    ask(wish::end);
    thread_.join();
  }

  void there_and_back() {
    ask(wish::answer);
    answered_.acquire();
  }

 private:
  enum class wish { none, answer, end };

  void ask(wish what) {
    {
      const std::lock_guard lock(mutex_);
      wish_ = what;
    }
    asked_.notify_one();
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      asked_.wait(lock, [this] { return wish_ != wish::none; });
      if (wish_ == wish::end) return;
      wish_ = wish::none;
      lock.unlock();
      answered_.release();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable asked_;
  wish wish_ = wish::none;
  std::binary_semaphore answered_{0};
  std::thread thread_;
};

inline task<> hops(executor_ref executor, run_queue& queue, std::size_t count) {
  auto nothing = []() noexcept {};
  for (std::size_t hop = 0; hop < count; ++hop) {
    const bool accepted = co_await offload(executor, queue, nothing);
    if (!accepted) throw std::runtime_error("the pool refused a job");
  }
}

}  // namespace detail

[[nodiscard]] inline comparison hop() {
  constexpr std::size_t count = 2000;
  std::counting_semaphore<> notified{0};
  thread_pool pool(1, 1, [&notified] { notified.release(); });
  run_queue queue;
  detail::bare_thread bare;
  return compare(
      "hop", 31, count,
      [&] {
        const auto running = detail::hops(pool, queue, count);
        if (!running) throw std::bad_alloc();
        running.start();
        while (!running.done()) {
          notified.acquire();
          pool.complete();
        }
        running.result();
      },
      [&] {
        for (std::size_t hop = 0; hop < count; ++hop) bare.there_and_back();
      });
}

}  // namespace brio::micro
