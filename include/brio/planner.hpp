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
  /// Cut at every segment size whatever the load, so that the same input gives the same output.
  bool fixed = false;
};

/// The cuts of a response of known length: `parts` segments of equal size, `together` of them at a
/// time.
struct cut_plan {
  std::uint64_t length = 0;
  std::uint64_t parts = 1;
  std::uint64_t together = 1;

  /// Offset of the end of part `index` (from 0): the parts differ by at most one byte.
  [[nodiscard]] constexpr std::uint64_t end(std::uint64_t index) const noexcept {
    const std::uint64_t base = length / parts;
    const std::uint64_t longer = length % parts;
    return base * (index + 1) + std::min(index + 1, longer);
  }
};

/// A part longer than this many segment sizes is cut again: the input of the parts that run side by
/// side is held in memory, and that must not grow with the response.
inline constexpr std::uint64_t longest_part = 4;

/// Known length: parts = min(tasks, idle slots, length / segment size), equal in size, at least one.
/// `idle` counts the slot that the response itself is about to use. Where that many would be longer
/// than `longest_part`, each is cut into equal ones that are not. One part is never cut.
[[nodiscard]] constexpr cut_plan plan_cuts(std::uint64_t length, const cut_limits& limits,
                                           unsigned idle) noexcept {
  const std::uint64_t worth = length / limits.segment_size;
  const std::uint64_t together = std::min<std::uint64_t>(limits.tasks, worth);
  if (limits.fixed && worth > 1) return {length, worth, together};
  const std::uint64_t parts = std::min<std::uint64_t>(together, idle);
  if (limits.fixed || parts <= 1) return {length, 1, 1};
  const std::uint64_t longest = parts * longest_part * limits.segment_size;
  const std::uint64_t rounds = (length + longest - 1) / longest;
  return {length, parts * rounds, parts};
}

/// Unknown length: whether the next byte starts a new segment. `filled` is the input of the segment
/// so far and `backlog` what of it waits (bytes), `live` the segments not yet delivered, `idle` the slots
/// nobody wants. Only input that comes faster than its encoder takes it is worth a second one.
[[nodiscard]] constexpr bool cut_here(std::uint64_t filled, std::uint64_t backlog,
                                      const cut_limits& limits, unsigned live,
                                      unsigned idle) noexcept {
  if (limits.fixed) return filled >= limits.segment_size;
  return live < limits.tasks && idle > 0 && backlog >= limits.segment_size;
}

}  // namespace brio
