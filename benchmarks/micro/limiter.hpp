// What the limiter adds to a step: to be admitted and to give the slot back, against one turn of the
// loop's queue, which is what waiting for anything costs at least.
#pragma once

#include <coroutine>
#include <cstddef>
#include <new>
#include <stdexcept>

#include <brio/async/run_queue.hpp>
#include <brio/async/task.hpp>
#include <brio/limiter.hpp>

#include "pairs.hpp"

namespace brio::micro {

namespace detail {

/// Awaitable: goes to the back of the queue once.
class next_turn final : public suspended {
 public:
  explicit next_turn(run_queue& queue) noexcept : queue_(queue) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> awaiting) noexcept {
    set_handle(awaiting);
    queue_.post(*this);
  }
  void await_resume() const noexcept {}

 private:
  run_queue& queue_;
};

inline task<> admissions(limiter& jobs, std::size_t count) {
  for (std::size_t at = 0; at < count; ++at) {
    permit slot;
    const step_class step{rank::fresh};
    co_await jobs.admit(slot, step);
  }
}

inline task<> turns(run_queue& queue, std::size_t count) {
  for (std::size_t at = 0; at < count; ++at) {
    next_turn turn(queue);
    co_await turn;
  }
}

inline void start(const task<>& each) {
  if (!each) throw std::bad_alloc();
  each.start();
}

inline void run_turns(run_queue& queue, std::size_t count) {
  const auto one = turns(queue, count);
  const auto other = turns(queue, count);
  start(one);
  start(other);
  queue.run();
}

}  // namespace detail

/// Slots are free: nobody waits.
[[nodiscard]] inline comparison limiter_free() {
  constexpr std::size_t count = 20000;
  run_queue queue;
  limiter jobs(queue, 2);
  return compare(
      "limiter, free", 31, 2 * count,
      [&] {
        const auto running = detail::admissions(jobs, 2 * count);
        detail::start(running);
      },
      [&] { detail::run_turns(queue, count); });
}

/// Two coroutines want the one slot, so each admission waits for the other's end.
[[nodiscard]] inline comparison limiter_contended() {
  constexpr std::size_t count = 20000;
  run_queue queue;
  limiter jobs(queue, 1);
  return compare(
      "limiter, contended", 31, 2 * count,
      [&] {
        permit held;  // while both queue up: then they take turns
        auto holding = jobs.admit(held, step_class{rank::fresh});
        if (!holding.await_ready()) throw std::logic_error("the only slot is taken");
        const auto one = detail::admissions(jobs, count);
        const auto other = detail::admissions(jobs, count);
        detail::start(one);
        detail::start(other);
        held.release();
        queue.run();
      },
      [&] { detail::run_turns(queue, count); });
}

}  // namespace brio::micro
