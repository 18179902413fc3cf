// The memory budget of one event loop: who may start, and who may have an encoder.
//
//   reservation   for each response, before its headers say that it is compressed: what it holds while
//                 it waits, with an encoder for each slot set aside. What does not fit is refused, and
//                 the host sends it as it is.
//   claim         for each encoder, before it is made: what it may come to need. Who does not fit
//                 waits, first come first served, and meanwhile those encoders are asked back whose
//                 responses are themselves waiting, the one that has rested longest first.
//
// Both go by estimates, so that the outcome does not depend on what malloc does. A budget that is too
// small for what is asked still lets one response, and one encoder, through at a time.
//
// Only the loop's thread touches a budget. It must outlive what it has given and those who wait.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <utility>

#include <brio/async/intrusive_list.hpp>
#include <brio/async/run_queue.hpp>

namespace brio {

class budget;

/// What one response has been promised. Move-only; given back when it dies.
class reservation {
 public:
  reservation() noexcept = default;
  reservation(reservation&& other) noexcept
      : owner_(std::exchange(other.owner_, nullptr)), bytes_(other.bytes_) {}
  reservation& operator=(reservation&& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  inline ~reservation();

  [[nodiscard]] explicit operator bool() const noexcept { return owner_ != nullptr; }

 private:
  friend class budget;
  reservation(budget& owner, std::size_t bytes) noexcept : owner_(&owner), bytes_(bytes) {}

  budget* owner_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The right to have one encoder. Move-only; given back when it dies.
class claim {
 public:
  claim() noexcept = default;
  claim(claim&& other) noexcept
      : owner_(std::exchange(other.owner_, nullptr)), bytes_(other.bytes_) {}
  claim& operator=(claim&& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~claim() { release(); }

  [[nodiscard]] explicit operator bool() const noexcept { return owner_ != nullptr; }

  inline void release() noexcept;

 private:
  friend class budget;
  claim(budget& owner, std::size_t bytes) noexcept : owner_(&owner), bytes_(bytes) {}

  budget* owner_ = nullptr;
  std::size_t bytes_ = 0;
};

/// An encoder whose response waits; it can be asked back.
class resting_encoder : public list_hook {
 public:
  /// Ends the encoder now, or as soon as what it holds has been flushed. Does not destroy *this.
  virtual void give_back() noexcept = 0;

 protected:
  ~resting_encoder() = default;
};

class budget {
 public:
  /// `limit`: bytes; `slots`: encoders that run at once. Waiters are resumed through `queue`.
  budget(run_queue& queue, std::size_t limit, unsigned slots) noexcept
      : queue_(queue), limit_(limit), slots_(slots) {}
  budget(const budget&) = delete;
  budget& operator=(const budget&) = delete;

  /// Reserves `input` bytes for a response whose encoders take `encoder` bytes each; empty when that
  /// is more than is left. The largest encoder in sight is set aside once for each slot; encoders beyond
  /// that have room only until it is reserved, and are asked back then if they rest.
  [[nodiscard]] reservation reserve(std::size_t input, std::size_t encoder) noexcept {
    const std::size_t largest = std::max(encoder, reservations_ == 0 ? 0 : largest_encoder_);
    const std::size_t set_aside = std::min(slots_ * largest, limit_ / 2);
    if (reservations_ > 0 && reserved_ + input + set_aside > limit_) return {};
    largest_encoder_ = largest;
    reserved_ += input;
    ++reservations_;
    while (reserved_ + claimed_ > limit_ && !resting_.empty()) ask_back(resting_.front());
    return {*this, input};
  }

  class admission;

  /// Awaitable: `right` holds a claim of `bytes` afterwards. Destroying the coroutine that waits takes
  /// it out of the queue.
  [[nodiscard]] inline admission admit(claim& right, std::size_t bytes) noexcept;

  /// `encoder` rests from now on, until it is unlinked.
  inline void rest(resting_encoder& encoder) noexcept;

  /// In bytes: the limit, and what reservations and claims hold of it.
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::size_t reserved() const noexcept { return reserved_; }
  [[nodiscard]] std::size_t claimed() const noexcept { return claimed_; }
  /// Encoders asked back since the beginning.
  [[nodiscard]] std::size_t asked_back() const noexcept { return asked_back_; }

 private:
  friend class reservation;
  friend class claim;

  [[nodiscard]] bool fits(std::size_t bytes) const noexcept {
    return claimed_ == 0 || reserved_ + claimed_ + bytes <= limit_;
  }

  void ask_back(resting_encoder& encoder) noexcept {
    encoder.unlink();
    ++asked_back_;
    encoder.give_back();
  }

  /// Lets through who fits now.
  inline void grant() noexcept;

  run_queue& queue_;
  const std::size_t limit_;
  const unsigned slots_;
  std::size_t reserved_ = 0;
  std::size_t claimed_ = 0;
  std::size_t largest_encoder_ = 0;
  std::size_t reservations_ = 0;
  std::size_t asked_back_ = 0;
  intrusive_list<admission> waiting_;
  intrusive_list<resting_encoder> resting_;  // longest first
};

/// The awaitable of budget::admit(); in a queue of the budget, then of the loop, while it waits.
class [[nodiscard("co_await it")]] budget::admission final : public suspended {
 public:
  admission(budget& owner, claim& right, std::size_t bytes) noexcept
      : owner_(owner), right_(right), bytes_(bytes) {}
  ~admission() {
    const bool waited = linked();
    unlink();
    if (waited) owner_.grant();  // a smaller one may have stood behind it
  }
  admission(const admission&) = delete;
  admission& operator=(const admission&) = delete;

  [[nodiscard]] bool await_ready() noexcept {
    while (owner_.waiting_.empty() && !owner_.fits(bytes_) && !owner_.resting_.empty()) {
      owner_.ask_back(owner_.resting_.front());
    }
    if (!owner_.waiting_.empty() || !owner_.fits(bytes_)) return false;
    take();
    return true;
  }
  void await_suspend(std::coroutine_handle<> awaiting) noexcept {
    set_handle(awaiting);
    owner_.waiting_.push_back(*this);
  }
  void await_resume() const noexcept {}

 private:
  friend class budget;

  void take() noexcept {
    owner_.claimed_ += bytes_;
    right_ = claim(owner_, bytes_);
  }

  budget& owner_;
  claim& right_;
  std::size_t bytes_;
};

inline budget::admission budget::admit(claim& right, std::size_t bytes) noexcept {
  return {*this, right, bytes};
}

inline void budget::rest(resting_encoder& encoder) noexcept {
  resting_.push_back(encoder);
  if (!waiting_.empty() || reserved_ + claimed_ > limit_) ask_back(encoder);
}

inline void budget::grant() noexcept {
  while (!waiting_.empty() && fits(waiting_.front().bytes_)) {
    admission& next = waiting_.pop_front();
    next.take();
    queue_.post(next);
  }
}

inline reservation::~reservation() {
  if (owner_ == nullptr) return;
  owner_->reserved_ -= bytes_;
  --owner_->reservations_;
  owner_->grant();
}

inline void claim::release() noexcept {
  if (owner_ == nullptr) return;
  budget& owner = *std::exchange(owner_, nullptr);
  owner.claimed_ -= bytes_;
  owner.grant();
}

}  // namespace brio
