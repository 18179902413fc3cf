// The input of one segment, cut into steps.
//
// Steps have a fixed size however the input arrived, so that the output does not depend on timing: a
// full block waits until it is known what follows it (more input, a flush, the end), because a finish
// on its own would cost bytes. A flush makes the block it falls into a step of its own; what arrives
// before that step starts joins it. Loop's thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <brio/blocks.hpp>
#include <brio/encoder.hpp>

namespace brio {

class segment_input {
 public:
  /// `expected`: the bytes that the segment is planned to get, where it is planned.
  segment_input(block_pool& pool, std::size_t step_size,
                std::optional<std::uint64_t> expected) noexcept
      : pool_(pool), step_size_(step_size), expected_(expected) {}

  /// Adds bytes; false when there is no memory for all of them.
  [[nodiscard]] bool append(std::span<const std::byte> bytes) noexcept {
    while (!bytes.empty()) {
      if (!make_room(bytes.size())) return false;
      block& last = blocks_.back();
      const std::size_t taken =
          last.append(bytes.first(std::min(bytes.size(), step_size_ - last.size())));
      accepted_ += taken;
      backlog_ += taken;
      bytes = bytes.subspan(taken);
    }
    return true;
  }

  /// Makes what waits decodable; false when nothing waits.
  [[nodiscard]] bool flush() noexcept {
    if (blocks_.empty()) return false;
    blocks_.back().flush = true;
    return true;
  }

  /// No more bytes. With operation::finish the last step ends the stream, and is an empty one where
  /// nothing waits; with operation::flush another segment follows. False when there is no memory.
  [[nodiscard]] bool end(operation how) noexcept {
    ending_ = how;
    if (how == operation::finish && blocks_.empty()) {
      block_handle nothing = pool_.get(0);
      if (!nothing) return false;
      blocks_.push(std::move(nothing));
    }
    return true;
  }

  /// It is known how many bytes are to come.
  [[nodiscard]] bool planned() const noexcept { return expected_.has_value(); }
  [[nodiscard]] bool ended() const noexcept { return ending_.has_value(); }
  /// True when no step waits; more may come unless it has ended.
  [[nodiscard]] bool empty() const noexcept { return blocks_.empty(); }

  /// Bytes added so far, of them those that wait for their step, and the others.
  [[nodiscard]] std::uint64_t accepted() const noexcept { return accepted_; }
  [[nodiscard]] std::size_t backlog() const noexcept { return backlog_; }
  [[nodiscard]] std::uint64_t taken() const noexcept { return accepted_ - backlog_; }

  /// The next step is to be flushed whatever follows it.
  [[nodiscard]] bool flushes_next() noexcept { return !blocks_.empty() && blocks_.front().flush; }

  /// The next step is known: a block whose successor, flush or end is.
  [[nodiscard]] bool decided() noexcept {
    return !blocks_.empty() && (blocks_.count() > 1 || flushes_next() || ended());
  }

  /// No more than one block is left to decide: more input is welcome.
  [[nodiscard]] bool runs_low() const noexcept { return !ended() && blocks_.count() < 2; }

  /// How many bytes are still to come or to be taken, as far as is known: the rest of those expected,
  /// those of the next flush, or else as many as there were so far. `flushed`: as though the next step
  /// were to be flushed.
  [[nodiscard]] std::uint64_t ahead(bool flushed) noexcept {
    if (expected_) return *expected_ - std::min(*expected_, taken());
    if (!blocks_.empty() && (flushed || flushes_next())) return blocks_.front().size();
    return accepted_;
  }

  struct step {
    block_handle block;
    operation op;
    bool last;  ///< nothing follows in this segment
  };

  /// Takes the next step, of which there must be one. `flushed`: whatever it is, flush it.
  [[nodiscard]] step next(bool flushed) noexcept {
    const bool last = ended() && blocks_.count() == 1;
    const operation undecided = flushed || flushes_next() ? operation::flush : operation::process;
    block_handle block = blocks_.pop();
    backlog_ -= block->size();
    return {std::move(block), last ? *ending_ : undecided, last};
  }

  /// Drops what waits.
  void clear() noexcept {
    blocks_.clear();
    backlog_ = 0;
  }

 private:
  /// Sees to it that the last block has room: a block grows with its input up to a step.
  [[nodiscard]] bool make_room(std::size_t bytes) noexcept {
    const std::size_t filled = blocks_.empty() ? step_size_ : blocks_.back().size();
    if (filled < step_size_ && blocks_.back().room() > 0) return true;

    const bool grows = filled < step_size_;
    const std::uint64_t coming = expected_ ? *expected_ - std::min(*expected_, accepted_) : bytes;
    const std::uint64_t wanted = grows ? filled * 4 : std::max<std::uint64_t>(coming, bytes);
    block_handle fresh =
        pool_.get(static_cast<std::size_t>(std::min<std::uint64_t>(step_size_, wanted)));
    if (!fresh) return false;
    if (grows) {
      const block_handle smaller = blocks_.pop_back();
      fresh->append(smaller->bytes());
      fresh->flush = smaller->flush;
    }
    blocks_.push(std::move(fresh));
    return true;
  }

  block_pool& pool_;
  const std::size_t step_size_;
  const std::optional<std::uint64_t> expected_;
  block_queue blocks_;
  std::uint64_t accepted_ = 0;
  std::size_t backlog_ = 0;
  std::optional<operation> ending_;
};

}  // namespace brio
