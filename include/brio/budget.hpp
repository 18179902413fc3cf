// The memory budget of one event loop: who may start, given what those who started may need.
//
// A response that waits for its turn holds little, but once its headers say it is compressed it must
// be, so what it may come to need is reserved before that: its input ahead, and an encoder for each
// slot. What does not fit is refused, and the host sends it as it is. Pure arithmetic; what is really
// in use is counted where it is used (block_pool, workspace_cache).
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

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

class budget {
 public:
  /// `limit`: bytes; `slots`: encoders that run at once.
  budget(std::size_t limit, unsigned slots) noexcept : limit_(limit), slots_(slots) {}
  budget(const budget&) = delete;
  budget& operator=(const budget&) = delete;

  /// Reserves `input` bytes for a response whose encoder takes `encoder` bytes; empty when that is
  /// more than is left. The largest encoder promised counts once for each slot.
  [[nodiscard]] reservation reserve(std::size_t input, std::size_t encoder) noexcept {
    const std::size_t largest = std::max(encoder, reservations_ == 0 ? 0 : largest_encoder_);
    if (reserved_ + input + slots_ * largest > limit_) return {};
    largest_encoder_ = largest;
    reserved_ += input;
    ++reservations_;
    return {*this, input};
  }

  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// Bytes of input reserved.
  [[nodiscard]] std::size_t reserved() const noexcept { return reserved_; }

 private:
  friend class reservation;

  const std::size_t limit_;
  const unsigned slots_;
  std::size_t reserved_ = 0;
  std::size_t largest_encoder_ = 0;
  std::size_t reservations_ = 0;
};

inline reservation::~reservation() {
  if (owner_ == nullptr) return;
  owner_->reserved_ -= bytes_;
  --owner_->reservations_;
}

}  // namespace brio
