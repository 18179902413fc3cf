// Coroutines that sleep until a time, in the order in which they are to wake.
//
// Part of a loop: the loop asks when the next one is due, sleeps no longer than that, and lets those
// that are due go on. A timer is never taken back; the loop's thread alone touches it.
#pragma once

#include <coroutine>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "schedule.hpp"

namespace brio::loadgen {

class timers {
 public:
  /// Resumes the awaiting coroutine at `when` (in order of asking where times are equal), or goes on at
  /// once if that is past.
  [[nodiscard]] auto sleep_until(clock::time_point when) noexcept {
    struct sleep {
      timers& owner;
      clock::time_point when;

      bool await_ready() const noexcept { return clock::now() >= when; }
      void await_suspend(std::coroutine_handle<> waiting) {
        owner.sleepers_.push({when, owner.asked_++, waiting});
      }
      void await_resume() const noexcept {}
    };
    return sleep{*this, when};
  }

  /// When the next sleeper is due; the end of time when nobody sleeps.
  [[nodiscard]] clock::time_point next() const noexcept {
    return sleepers_.empty() ? clock::time_point::max() : sleepers_.top().when;
  }

  /// Resumes those that are due.
  void run_due() {
    while (next() <= clock::now()) {
      const auto waiting = sleepers_.top().waiting;
      sleepers_.pop();
      waiting.resume();
    }
  }

 private:
  struct sleeper {
    clock::time_point when;
    std::uint64_t order;
    std::coroutine_handle<> waiting;

    bool operator>(const sleeper& other) const noexcept {
      return when != other.when ? when > other.when : order > other.order;
    }
  };

  std::priority_queue<sleeper, std::vector<sleeper>, std::greater<>> sleepers_;
  std::uint64_t asked_ = 0;
};

}  // namespace brio::loadgen
