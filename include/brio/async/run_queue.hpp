// What waits for its turn on the event loop: coroutines to resume and notices to give.
//
// Everything that happens on the loop goes through one flat queue, so that no coroutine is resumed
// from inside another one, and the host is called only between two turns, never from inside a
// coroutine that it might destroy. A chain of coroutines that complete at once is a loop here, not a
// recursion. Only the loop's thread touches a run_queue.
#pragma once

#include <coroutine>

#include <brio/async/intrusive_list.hpp>

namespace brio {

/// Something that gets one turn. It leaves the queue when it dies.
class runnable : public list_hook {
 public:
  virtual void run() noexcept = 0;

 protected:
  ~runnable() = default;
};

/// A suspended coroutine that gets its turn. It lives in the coroutine's own frame (as part of the
/// awaiter), so destroying the coroutine takes it out of whatever list it waits in.
class suspended : public runnable {
 public:
  void set_handle(std::coroutine_handle<> handle) noexcept { handle_ = handle; }
  void run() noexcept override { handle_.resume(); }

 protected:
  ~suspended() = default;

 private:
  std::coroutine_handle<> handle_;
};

class run_queue {
 public:
  /// Gives `item` a turn once those before it have had theirs. Posting twice is posting once.
  void post(runnable& item) noexcept {
    if (!item.linked()) items_.push_back(item);
  }

  /// Runs everything posted, and what that posts in turn. Called from inside itself it returns at
  /// once: the outer call gets there.
  void run() noexcept {
    if (running_) return;
    running_ = true;
    while (!items_.empty()) items_.pop_front().run();
    running_ = false;
  }

 private:
  intrusive_list<runnable> items_;
  bool running_ = false;
};

}  // namespace brio
