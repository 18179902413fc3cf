// An executor with threads of its own, for hosts that have no pool. Not part of brio.hpp: it is the
// only header with threads in it.
//
//   loop's thread   submit(), complete(), construction and destruction
//   workers         take jobs, run them, and call `notify` when one is done
//
// `notify` is called by a worker after it put a finished job in the done list; it must make the loop
// call complete() soon (write to an eventfd, say) and may be called from several threads at once. It
// is called only when the list was empty before, so once for any number of finished jobs.
//
// The destructor lets the workers finish every job they have taken or still hold in the queue, and
// joins them. Jobs that have run but not been completed by then are dropped, so the host should call
// complete() until jobs() is 0 before it destroys what they belong to.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <brio/async/executor.hpp>
#include <brio/async/intrusive_list.hpp>

namespace brio {

class thread_pool {
 public:
  /// `threads`: from 1. `queue_limit`: jobs that may wait for a thread, beyond which submit()
  /// refuses. Throws std::system_error when a thread cannot be started.
  thread_pool(std::size_t threads, std::size_t queue_limit, std::function<void()> notify)
      : queue_limit_(queue_limit), notify_(std::move(notify)) {
    workers_.reserve(threads);
    try {
      while (workers_.size() < threads) workers_.emplace_back([this] { work(); });
    } catch (...) {
      stop();
      throw;
    }
  }
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;
  ~thread_pool() { stop(); }

  submission submit(job& j) noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (queued_ >= queue_limit_ + idle_) return submission::refused;
      queue_.push_back(j);
      ++queued_;
    }
    ++jobs_;
    wanted_.notify_one();
    return submission::accepted;
  }
  [[nodiscard]] bool runs_inline() const noexcept { return false; }

  /// Completes the jobs that have run, on the calling thread, which is the loop's.
  void complete() noexcept {
    while (job* j = pop_done()) {
      --jobs_;
      j->complete();
    }
  }

  /// Jobs accepted and not yet completed. Loop's thread.
  [[nodiscard]] std::size_t jobs() const noexcept { return jobs_; }

 private:
  [[nodiscard]] job* pop_done() noexcept {
    const std::lock_guard lock(mutex_);
    return done_.empty() ? nullptr : &done_.pop_front();
  }

  void work() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      wanted_.wait(lock, [this] { return queued_ > 0 || stopping_; });
      --idle_;
      if (queued_ == 0) return;
      job& j = queue_.pop_front();
      --queued_;
      lock.unlock();
      j.run();
      lock.lock();
      const bool first = done_.empty();
      done_.push_back(j);
      if (first) {
        lock.unlock();
        notify_();
        lock.lock();
      }
    }
  }

  void stop() noexcept {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wanted_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  const std::size_t queue_limit_;
  const std::function<void()> notify_;
  std::size_t jobs_ = 0;  // the loop's alone

  std::mutex mutex_;  // guards everything below but workers_
  std::condition_variable wanted_;
  intrusive_list<job> queue_;
  intrusive_list<job> done_;
  std::size_t queued_ = 0;
  std::size_t idle_ = 0;
  bool stopping_ = false;

  std::vector<std::thread> workers_;
};

static_assert(executor<thread_pool>);

}  // namespace brio
