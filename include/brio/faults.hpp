// Faults on demand, so that races and failures repeat in tests. In a normal build the types here are
// empty and the questions constant.
//
// A fault_plan says what is to go wrong for one response. The segments ask it about their jobs;
// allocations find it through a fault_scope, which names the plan to the current thread while code
// works on behalf of that response. Several steps of a response may run at the same time, so the
// counters are atomic.
#pragma once

#include <brio/config.hpp>

#if BRIO_FAULTS
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#endif

namespace brio {

#if BRIO_FAULTS

/// Fires at the n-th event (from 1), at every one, or (by default) never.
class fault_trigger {
 public:
  static constexpr long never = 0;
  static constexpr long always = -1;

  void set(long nth) noexcept { left_.store(nth, std::memory_order_relaxed); }

  /// Counts one event; true when it is the one.
  bool fires() noexcept {
    const long left = left_.load(std::memory_order_relaxed);
    if (left == always) return true;
    return left > 0 && left_.fetch_sub(1, std::memory_order_relaxed) == 1;
  }

  /// True when the n-th event has not come yet.
  [[nodiscard]] bool waiting() const noexcept { return left_.load(std::memory_order_relaxed) > 0; }

 private:
  std::atomic<long> left_{never};
};

struct fault_plan {
  std::chrono::milliseconds delay{0};  ///< every step sleeps this long on its worker first
  fault_trigger refuse;                ///< submissions of a job
  fault_trigger fail;                  ///< steps: the encoder fails
  fault_trigger allocate;              ///< allocations: there is no memory
};

/// A response's way to its plan; without one nothing goes wrong. Steps that outlive their response
/// still ask, so the plan is shared, or outlives the engine.
class fault_link {
 public:
  fault_link() noexcept = default;
  explicit fault_link(std::shared_ptr<fault_plan> plan) noexcept : plan_(std::move(plan)) {}
  explicit fault_link(fault_plan& plan) noexcept
      : plan_(std::shared_ptr<fault_plan>(std::shared_ptr<void>(), &plan)) {}

  [[nodiscard]] bool refuses() const noexcept { return plan_ != nullptr && plan_->refuse.fires(); }
  [[nodiscard]] bool fails() const noexcept { return plan_ != nullptr && plan_->fail.fires(); }
  void delay() const noexcept {
    if (plan_ != nullptr && plan_->delay.count() > 0) std::this_thread::sleep_for(plan_->delay);
  }

 private:
  friend class fault_scope;
  std::shared_ptr<fault_plan> plan_;
};

namespace detail {
inline thread_local fault_plan* plan_in_force = nullptr;
}

class [[nodiscard]] fault_scope {
 public:
  explicit fault_scope(const fault_link& link) noexcept : outer_(detail::plan_in_force) {
    detail::plan_in_force = link.plan_.get();
  }
  ~fault_scope() { detail::plan_in_force = outer_; }
  fault_scope(const fault_scope&) = delete;
  fault_scope& operator=(const fault_scope&) = delete;

 private:
  fault_plan* outer_;
};

inline bool allocation_fails() noexcept {
  return detail::plan_in_force != nullptr && detail::plan_in_force->allocate.fires();
}

#else

class fault_link {
 public:
  [[nodiscard]] constexpr bool refuses() const noexcept { return false; }
  [[nodiscard]] constexpr bool fails() const noexcept { return false; }
  constexpr void delay() const noexcept {}
};

class fault_scope {
 public:
  explicit fault_scope(const fault_link&) noexcept {}
  ~fault_scope() {}  // not trivial, so that a scope is never an unused variable
  fault_scope(const fault_scope&) = delete;
  fault_scope& operator=(const fault_scope&) = delete;
};

constexpr bool allocation_fails() noexcept { return false; }

#endif

}  // namespace brio
