// The encoder concept: what turns one run of input into output, a step at a time.
//
// An encoder compresses one segment. It is a value that owns its state and knows neither threads nor
// coroutines: the engine creates and destroys it on the loop and runs its steps one after another,
// each wherever the executor likes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <brio/error.hpp>
#include <brio/workspace.hpp>

namespace brio {

/// What a step is to achieve for the input it is given.
enum class operation {
  process,  ///< take it; output may come later
  flush,    ///< make everything taken so far decodable
  finish,   ///< and end the stream; nothing follows
};

/// Where in its response a segment starts, and what is known of the response by then.
struct segment_start {
  /// Input bytes of the response before this segment; 0 starts the stream.
  std::uint64_t offset = 0;
  /// The length of the whole response in bytes, where it is known. The input may turn out otherwise.
  std::optional<std::uint64_t> length;
  /// Input bytes that are waiting for this segment already: the best guess at an unknown length.
  std::uint64_t buffered = 0;
};

/// What one call of step() did.
struct step_result {
  std::size_t consumed = 0;  ///< bytes of the input taken
  std::size_t produced = 0;  ///< bytes of the output space written
  bool complete = false;     ///< the operation is over; if not, call again with more space
  error failure = error::none;
};

template <class E>
concept encoder = std::movable<E> &&
                  requires(E& e, const typename E::options& options, const segment_start& start,
                           workspace& memory, std::span<const std::byte> input, operation op,
                           std::span<std::byte> space, std::uint64_t bytes) {
                    /// How much input one step gets, in bytes; the same for a whole response, at most 256 KiB.
                    { E::step_size(options) } noexcept -> std::same_as<std::size_t>;
                    /// Roughly how long `bytes` take to compress, in microseconds.
                    { E::microseconds(options, bytes) } noexcept -> std::same_as<std::uint64_t>;
                    /// Whether a flush early in a long response costs next to nothing in size.
                    { E::flush_is_cheap(options) } noexcept -> std::same_as<bool>;
                    /// Roughly the most memory that an encoder takes for a response of `bytes`, in bytes.
                    { E::memory(options, bytes) } noexcept -> std::same_as<std::size_t>;
                    /// Encoders with equal shapes want the same memory, see workspace_cache::get().
                    { E::shape(options, start) } noexcept -> std::same_as<unsigned>;
                    /// A new encoder in `memory`, which outlives it; nothing when that failed, and
                    /// memory.failed() then tells whether for want of memory. On the loop.
                    {
                      E::create(options, start, memory)
                    } noexcept -> std::same_as<std::optional<E>>;
                    /// One step. Any thread, never two at once. Does not throw and allocates from its workspace.
                    { e.step(input, op, space) } noexcept -> std::same_as<step_result>;
                  };

}  // namespace brio
