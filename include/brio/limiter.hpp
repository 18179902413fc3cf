// The job limiter: at most K steps of one event loop run at once, and who is next.
//
// A thread pool's own queue is first come, first served; behind eight long compressions a small page
// would wait for all of them. So brio keeps its queue in front of the pool and lets no more than K
// (the usable CPUs) through. The order:
//
//   ending  a response that has started and has little left goes first: a started encoder is memory
//           held;
//   brief   then work known to be short;
//   begun   then the next step of a long response that has started: rather finish few than advance
//           many;
//   fresh   then a long response that has not started yet.
//
// Within a rank: first come, first served. So that a stream of brief work cannot starve the rest, a
// longer one goes first after `patience` brief ones have passed it.
//
//   permit slot;
//   const step_class step{rank::fresh};
//   co_await jobs.admit(slot, step);   // waits for a slot; who has one keeps it unless others wait
//
// A dear step (some milliseconds; at levels 10 and 11 hundreds) cannot be interrupted. When all slots are
// in such hands, crowded() says so, and work that is cheap enough is better done on the loop.
//
// Several event loops on the same CPUs know of each other through a peer_load: each may always run
// one step, and more only while all together run fewer than there are CPUs.
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
enum class rank : unsigned char { ending, brief, begun, fresh };

/// How urgent a step is, and whether it is dear.
struct step_class {
  rank urgency = rank::fresh;
  bool dear = false;
};

/// The steps that other event loops on the same CPUs run. Called on the loop.
class peer_load {
 public:
  /// This loop now runs `running` steps.
  virtual void publish(unsigned running) noexcept = 0;
  /// Steps that the others run.
  [[nodiscard]] virtual unsigned others() const noexcept = 0;

 protected:
  ~peer_load() = default;
};

class limiter;

/// The right to run one step at a time. Move-only; gives its slot back when it dies.
class permit {
 public:
  permit() noexcept = default;
  permit(permit&& other) noexcept
      : owner_(std::exchange(other.owner_, nullptr)), dear_(other.dear_) {}
  permit& operator=(permit&& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(dear_, other.dear_);
    return *this;
  }
  ~permit() { release(); }

  [[nodiscard]] explicit operator bool() const noexcept { return owner_ != nullptr; }

  inline void release() noexcept;

 private:
  friend class limiter;
  permit(limiter& owner, bool dear) noexcept : owner_(&owner), dear_(dear) {}

  limiter* owner_ = nullptr;
  bool dear_ = false;
};

class limiter {
 public:
  /// Brief steps that may pass a longer one that waits.
  static constexpr unsigned patience = 32;

  /// Slots given back before a limit lowered by a refusal rises by one again.
  static constexpr unsigned recovery = 64;

  /// `slots`: the most steps at once, at least 1. Waiters are resumed through `queue`.
  limiter(run_queue& queue, unsigned slots, peer_load* peers = nullptr) noexcept
      : queue_(queue), slots_(std::max(slots, 1U)), peers_(peers), limit_(slots_) {}
  limiter(const limiter&) = delete;
  limiter& operator=(const limiter&) = delete;

  class admission;

  /// Awaitable: `slot` holds a slot afterwards. A slot already held is kept, or goes to the back of
  /// its rank when others are before it. Destroying the coroutine that waits takes it out of the
  /// queue.
  [[nodiscard]] inline admission admit(permit& slot, step_class step) noexcept;

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
    const unsigned taken = running_ + waiting_ + (peers_ == nullptr ? 0 : peers_->others());
    return taken < limit_ ? limit_ - taken : 0;
  }

  /// All slots are taken, by dear steps: cheap work would wait longer than it takes.
  [[nodiscard]] bool crowded() const noexcept { return !has_slot() && dear_ == running_; }

  [[nodiscard]] unsigned running() const noexcept { return running_; }
  [[nodiscard]] unsigned waiting() const noexcept { return waiting_; }
  [[nodiscard]] unsigned slots() const noexcept { return slots_; }

 private:
  friend class permit;

  static constexpr std::size_t index(rank urgency) noexcept {
    return static_cast<std::size_t>(urgency);
  }

  intrusive_list<admission>& queue_of(rank urgency) noexcept { return queues_[index(urgency)]; }

  [[nodiscard]] bool has_slot() const noexcept {
    if (running_ == 0) return true;
    return running_ < limit_ && (peers_ == nullptr || running_ + peers_->others() < slots_);
  }

  /// More steps run on these CPUs than there are, and this loop can do with fewer.
  [[nodiscard]] bool overloaded() const noexcept {
    return running_ > 1 && peers_ != nullptr && running_ + peers_->others() > slots_;
  }

  void count(unsigned running, unsigned dear) noexcept {
    running_ = running;
    dear_ = dear;
    if (peers_ != nullptr) peers_->publish(running_);
  }

  void reclass(permit& slot, bool dear) noexcept {
    count(running_, dear_ - (slot.dear_ ? 1 : 0) + (dear ? 1 : 0));
    slot.dear_ = dear;
  }

  void give_back(bool dear) noexcept {
    count(running_ - 1, dear_ - (dear ? 1 : 0));
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
  peer_load* const peers_;
  unsigned limit_;
  unsigned running_ = 0;
  unsigned dear_ = 0;
  unsigned waiting_ = 0;
  unsigned passed_ = 0;
  unsigned given_back_ = 0;
  std::array<intrusive_list<admission>, 4> queues_;
};

/// The awaitable of limiter::admit(); in a queue of the limiter, then of the loop, while it waits.
class [[nodiscard("co_await it")]] limiter::admission final : public suspended {
 public:
  admission(limiter& owner, permit& slot, step_class step) noexcept
      : owner_(owner), slot_(slot), step_(step) {}
  ~admission() {
    if (waiting_) --owner_.waiting_;
  }
  admission(const admission&) = delete;
  admission& operator=(const admission&) = delete;

  [[nodiscard]] bool await_ready() noexcept {
    if (slot_ && owner_.waiting_ == 0 && !owner_.overloaded()) {
      owner_.reclass(slot_, step_.dear);
      return true;
    }
    if (slot_) return false;
    if (owner_.waiting_ > 0 || !owner_.has_slot()) return false;
    take();
    return true;
  }

  /// Queues first and only then gives up a slot held: it may come straight back.
  void await_suspend(std::coroutine_handle<> awaiting) noexcept {
    set_handle(awaiting);
    owner_.queue_of(step_.urgency).push_back(*this);
    waiting_ = true;
    ++owner_.waiting_;
    slot_.release();
  }

  void await_resume() const noexcept {}

 private:
  friend class limiter;

  void take() noexcept {
    owner_.count(owner_.running_ + 1, owner_.dear_ + (step_.dear ? 1 : 0));
    slot_ = permit(owner_, step_.dear);
  }

  limiter& owner_;
  permit& slot_;
  step_class step_;
  bool waiting_ = false;
};

inline limiter::admission limiter::admit(permit& slot, step_class step) noexcept {
  return {*this, slot, step};
}

inline limiter::admission& limiter::next() noexcept {
  if (auto& ending = queue_of(rank::ending); !ending.empty()) return ending.pop_front();
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
  while (waiting_ > 0 && has_slot()) {
    admission& granted = next();
    granted.waiting_ = false;
    --waiting_;
    granted.take();
    queue_.post(granted);
  }
}

inline void permit::release() noexcept {
  if (owner_ != nullptr) std::exchange(owner_, nullptr)->give_back(dear_);
}

}  // namespace brio
