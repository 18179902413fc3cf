// The planner: where a response is cut into segments. Pure arithmetic.
//
// One encoder that runs through the whole response loses nothing; every further segment starts with
// an empty window and costs size. So a response is cut only where that buys time: slots are idle, and
// there is input enough for each part.
#pragma once

#include <algorithm>
#include <cstdint>

namespace brio {

/// What a host allows for one response.
struct cut_limits {
  /// The most segments of one response that run at once, from 1.
  unsigned tasks = 1;
  /// The least input worth a further segment, in bytes, from 1.
  std::uint64_t segment_size = std::uint64_t{1} << 20;
};

/// The cuts of a response of known length: `parts` segments of equal size.
struct cut_plan {
  std::uint64_t length = 0;
  std::uint64_t parts = 1;

  /// Offset of the end of part `index` (from 0): the parts differ by at most one byte.
  [[nodiscard]] constexpr std::uint64_t end(std::uint64_t index) const noexcept {
    const std::uint64_t base = length / parts;
    const std::uint64_t longer = length % parts;
    return base * (index + 1) + std::min(index + 1, longer);
  }
};

/// A part longer than this many segment sizes is cut again: the input of all parts but the last is
/// held in memory while they run side by side, and that must not grow with the response.
inline constexpr std::uint64_t longest_part = 4;

/// Known length: parts = min(tasks, idle slots, length / segment size), equal in size, at least one.
/// `idle` counts the slot that the response itself is about to use. Where that many would be longer
/// than `longest_part`, each is cut into equal ones that are not. One part is never cut.
[[nodiscard]] constexpr cut_plan plan_cuts(std::uint64_t length, const cut_limits& limits,
                                           unsigned idle) noexcept {
  const std::uint64_t together = std::min<std::uint64_t>(
      {std::uint64_t{limits.tasks}, std::uint64_t{idle}, length / limits.segment_size});
  if (together <= 1) return {length, 1};
  const std::uint64_t longest = together * longest_part * limits.segment_size;
  const std::uint64_t rounds = (length + longest - 1) / longest;
  return {length, together * rounds};
}

/// Unknown length: whether the next byte starts a new segment. `backlog` is the input that waits for
/// the segment being filled (bytes), `live` the segments not yet done, `idle` the slots nobody wants.
/// Only input that comes faster than its encoder takes it is worth a second one.
[[nodiscard]] constexpr bool cut_here(std::uint64_t backlog, const cut_limits& limits,
                                      unsigned live, unsigned idle) noexcept {
  return live < limits.tasks && idle > 0 && backlog >= limits.segment_size;
}

}  // namespace brio
