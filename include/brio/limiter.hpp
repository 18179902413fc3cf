// The job limiter: at most K steps of one event loop run at once, and who is next.
//
// A thread pool's own queue is first come, first served; behind eight long compressions a small page
// would wait for all of them. So brio keeps its queue in front of the pool and lets no more than K
// (the usable CPUs) through. The order:
//
//   brief   work known to be short goes first;
//   begun   then the next step of a response whose encoder has started, since a started encoder is
//           memory held: rather finish few long responses than advance many;
//   fresh   then a long response that has not started yet.
//
// Within a rank: first come, first served. So that a stream of brief work cannot starve the rest, a
// longer one goes first after `patience` brief ones have passed it.
//
//   permit slot;
//   co_await jobs.admit(slot, rank::fresh);   // waits for a slot; an admitted permit keeps its
//                                             // slot unless somebody more urgent waits
//
// Only the loop's thread touches a limiter. It must outlive its permits and those who wait.
#pragma once

#include <algorithm>
#include <array>
#include <coroutine>
#include <cstddef>
#include <utility>

#include <brio/async/intrusive_list.hpp>
#include <brio/async/run_queue.hpp>

namespace brio {

/// How urgent a step is; the lower value goes first.
enum class rank : unsigned char { brief, begun, fresh };

class limiter;

/// The right to run one step at a time. Move-only; gives its slot back when it dies.
class permit {
 public:
  permit() noexcept = default;
  permit(permit&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
  permit& operator=(permit&& other) noexcept {
    std::swap(owner_, other.owner_);
    return *this;
  }
  ~permit() { release(); }

  [[nodiscard]] explicit operator bool() const noexcept { return owner_ != nullptr; }

  inline void release() noexcept;

 private:
  friend class limiter;
  explicit permit(limiter& owner) noexcept : owner_(&owner) {}

  limiter* owner_ = nullptr;
};

class limiter {
 public:
  /// Brief steps that may pass a longer one that waits.
  static constexpr unsigned patience = 32;

  /// Slots given back before a limit lowered by a refusal rises by one again.
  static constexpr unsigned recovery = 64;

  /// `slots`: the most steps at once, at least 1. Waiters are resumed through `queue`.
  limiter(run_queue& queue, unsigned slots) noexcept
      : queue_(queue), slots_(std::max(slots, 1U)), limit_(slots_) {}
  limiter(const limiter&) = delete;
  limiter& operator=(const limiter&) = delete;

  class admission;

  /// Awaitable: `slot` holds a slot afterwards. A slot already held is kept, or goes to the back of
  /// its rank when others are before it. Destroying the coroutine that waits takes it out of the
  /// queue.
  [[nodiscard]] inline admission admit(permit& slot, rank urgency) noexcept;

  /// The executor refused the step that `slot` was for. Gives the slot back and lowers the limit to
  /// what is running now, so that admit() waits for one of those to complete. False, with the slot
  /// kept, when nothing else runs: then nobody would call, and the step must be run on the loop.
  [[nodiscard]] bool refused(permit& slot) noexcept {
    if (running_ <= 1) return false;
    limit_ = std::min(limit_, running_ - 1);
    given_back_ = 0;
    slot.release();
    return true;
  }

  /// Slots that nobody runs in or waits for.
  [[nodiscard]] unsigned idle() const noexcept {
    const unsigned taken = running_ + waiting_;
    return taken < limit_ ? limit_ - taken : 0;
  }

  [[nodiscard]] unsigned running() const noexcept { return running_; }
  [[nodiscard]] unsigned waiting() const noexcept { return waiting_; }
  [[nodiscard]] unsigned slots() const noexcept { return slots_; }

 private:
  friend class permit;

  static constexpr std::size_t index(rank urgency) noexcept {
    return static_cast<std::size_t>(urgency);
  }

  intrusive_list<admission>& queue_of(rank urgency) noexcept { return queues_[index(urgency)]; }

  void give_back() noexcept {
    --running_;
    if (limit_ < slots_ && ++given_back_ >= recovery) {
      ++limit_;
      given_back_ = 0;
    }
    grant();
  }

  inline void grant() noexcept;
  inline admission& next() noexcept;

  run_queue& queue_;
  const unsigned slots_;
  unsigned limit_;
  unsigned running_ = 0;
  unsigned waiting_ = 0;
  unsigned passed_ = 0;
  unsigned given_back_ = 0;
  std::array<intrusive_list<admission>, 3> queues_;
};

/// The awaitable of limiter::admit(); in a queue of the limiter, then of the loop, while it waits.
class [[nodiscard("co_await it")]] limiter::admission final : public suspended {
 public:
  admission(limiter& owner, permit& slot, rank urgency) noexcept
      : owner_(owner), slot_(slot), urgency_(urgency) {}
  ~admission() {
    if (waiting_) --owner_.waiting_;
  }
  admission(const admission&) = delete;
  admission& operator=(const admission&) = delete;

  [[nodiscard]] bool await_ready() noexcept {
    if (slot_) return owner_.waiting_ == 0;
    if (owner_.waiting_ > 0 || owner_.running_ >= owner_.limit_) return false;
    take();
    return true;
  }

  /// Queues first and only then gives up a slot held: it may come straight back.
  bool await_suspend(std::coroutine_handle<> awaiting) noexcept {
    set_handle(awaiting);
    owner_.queue_of(urgency_).push_back(*this);
    waiting_ = true;
    ++owner_.waiting_;
    slot_.release();
    return true;
  }

  void await_resume() const noexcept {}

 private:
  friend class limiter;

  void take() noexcept {
    ++owner_.running_;
    slot_ = permit(owner_);
  }

  limiter& owner_;
  permit& slot_;
  rank urgency_;
  bool waiting_ = false;
};

inline limiter::admission limiter::admit(permit& slot, rank urgency) noexcept {
  return {*this, slot, urgency};
}

inline limiter::admission& limiter::next() noexcept {
  auto& brief = queue_of(rank::brief);
  auto& longer = queue_of(queue_of(rank::begun).empty() ? rank::fresh : rank::begun);
  if (brief.empty() || (!longer.empty() && passed_ == patience)) {
    passed_ = 0;
    return longer.pop_front();
  }
  passed_ = longer.empty() ? 0 : passed_ + 1;
  return brief.pop_front();
}

inline void limiter::grant() noexcept {
  while (waiting_ > 0 && running_ < limit_) {
    admission& granted = next();
    granted.waiting_ = false;
    --waiting_;
    granted.take();
    queue_.post(granted);
  }
}

inline void permit::release() noexcept {
  if (owner_ != nullptr) std::exchange(owner_, nullptr)->give_back();
}

}  // namespace brio
