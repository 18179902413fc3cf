#include <brio/planner.hpp>

#include <algorithm>
#include <cstdint>

#include "catch.hpp"
#include "dice.hpp"

using brio::cut_here;
using brio::cut_limits;
using brio::cut_plan;
using brio::longest_part;
using brio::plan_cuts;

namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

}  // namespace

// Too little input for a second segment, one task, or nobody idle: one part.
static_assert(plan_cuts(0, {4, mib}, 4).parts == 1);
static_assert(plan_cuts(2 * mib - 1, {4, mib}, 4).parts == 1);
static_assert(plan_cuts(100 * mib, {1, mib}, 4).parts == 1);
static_assert(plan_cuts(100 * mib, {4, mib}, 1).parts == 1);
static_assert(plan_cuts(100 * mib, {4, mib}, 0).parts == 1);

// The least of tasks, idle slots and length / segment size.
static_assert(plan_cuts(2 * mib, {4, mib}, 4).parts == 2);
static_assert(plan_cuts(4 * mib, {4, mib}, 3).parts == 3);
static_assert(plan_cuts(4 * mib, {2, mib}, 8).parts == 2);
static_assert(plan_cuts(4 * mib, {8, mib}, 8).parts == 4);

// What would be held in memory for it is bounded: longer parts are cut again, all alike.
static_assert(plan_cuts(8 * mib, {2, mib}, 2).parts == 2);
static_assert(plan_cuts(8 * mib + 1, {2, mib}, 2).parts == 4);
static_assert(plan_cuts(24 * mib, {2, mib}, 2).parts == 6);

// Parts are equal; the first ones take what does not divide.
static_assert(cut_plan{10, 3}.end(0) == 4);
static_assert(cut_plan{10, 3}.end(1) == 7);
static_assert(cut_plan{10, 3}.end(2) == 10);
static_assert(cut_plan{0, 1}.end(0) == 0);

// Unknown length: a backlog, a slot, and tasks to spare.
static_assert(cut_here(4 * mib, mib, {4, mib}, 1, 1));
static_assert(cut_here(4 * mib, mib, {4, mib}, 3, 1));
static_assert(!cut_here(4 * mib, mib - 1, {4, mib}, 1, 1));
static_assert(!cut_here(4 * mib, mib, {4, mib}, 4, 1));
static_assert(!cut_here(4 * mib, mib, {4, mib}, 1, 0));
static_assert(!cut_here(4 * mib, mib, {1, mib}, 1, 4));

// Fixed cuts depend on the length alone.
static_assert(plan_cuts(10 * mib, {4, mib, true}, 0).parts == 10);
static_assert(plan_cuts(10 * mib, {4, mib, true}, 0).together == 4);
static_assert(plan_cuts(10 * mib, {1, mib, true}, 8).parts == 10);
static_assert(plan_cuts(2 * mib - 1, {4, mib, true}, 8).parts == 1);
static_assert(cut_here(mib, 0, {1, mib, true}, 1, 0));
static_assert(!cut_here(mib - 1, mib - 1, {4, mib, true}, 1, 4));

TEST_CASE("parts cover the response, differ by at most a byte, and are neither crumbs nor giants",
          "[planner]") {
  const std::uint64_t seed = 20240501;
  CAPTURE(seed);
  brio::test::dice choose(seed);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t length = choose.below(std::size_t{1} << choose.between(1, 40));
    const cut_limits limits{static_cast<unsigned>(choose.between(1, 64)),
                            choose.between(1, std::size_t{1} << choose.between(0, 24))};
    const auto idle = static_cast<unsigned>(choose.below(70));
    CAPTURE(length, limits.tasks, limits.segment_size, idle);
    const cut_plan plan = plan_cuts(length, limits, idle);

    REQUIRE(plan.end(plan.parts - 1) == length);
    REQUIRE(plan.together >= 1);
    REQUIRE(plan.together <= limits.tasks);
    if (plan.parts == 1) continue;
    const std::uint64_t together = std::min(limits.tasks, idle);
    REQUIRE(plan.together <= together);
    REQUIRE((plan.parts <= together || length > together * longest_part * limits.segment_size));
    const std::uint64_t first = plan.end(0);
    REQUIRE(first >= limits.segment_size);
    REQUIRE(first <= longest_part * limits.segment_size + 1);
    std::uint64_t start = 0;
    for (std::uint64_t part = 0; part < std::min<std::uint64_t>(plan.parts, 100); ++part) {
      const std::uint64_t size = plan.end(part) - start;
      REQUIRE((size == first || size + 1 == first));
      start += size;
    }
  }
}
