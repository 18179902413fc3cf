#include <brio/segment_input.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <brio/blocks.hpp>
#include <brio/encoder.hpp>
#include <brio/faults.hpp>

#include "bytes.hpp"
#include "catch.hpp"

namespace {

using brio::block_pool;
using brio::operation;
using brio::segment_input;
using brio::test::bytes;

constexpr std::size_t step = 6000;  // more than the smallest block

bytes taken(segment_input::step s) { return {s.block->bytes().begin(), s.block->bytes().end()}; }

}  // namespace

TEST_CASE("a full block is decided by what follows it", "[segment_input]") {
  const bytes body = brio::test::noise(step + 1, 1);
  block_pool pool;
  segment_input input(pool, step, std::nullopt);
  CHECK(input.empty());
  CHECK_FALSE(input.decided());
  REQUIRE(input.append(std::span(body).first(step)));
  CHECK_FALSE(input.decided());

  SECTION("more input: it is only processed") {
    REQUIRE(input.append(std::span(body).last(1)));
    REQUIRE(input.decided());
    const segment_input::step first = input.next(false);
    CHECK(first.op == operation::process);
    CHECK_FALSE(first.last);
    CHECK(first.block->size() == step);
    CHECK_FALSE(input.decided());
  }
  SECTION("a flush") {
    REQUIRE(input.flush());
    REQUIRE(input.decided());
    const segment_input::step first = input.next(false);
    CHECK(first.op == operation::flush);
    CHECK_FALSE(first.last);
  }
  SECTION("the end, of the response or of a part of it") {
    const operation how = GENERATE(operation::finish, operation::flush);
    REQUIRE(input.end(how));
    REQUIRE(input.decided());
    const segment_input::step first = input.next(false);
    CHECK(first.op == how);
    CHECK(first.last);
    CHECK(input.empty());
  }
}

TEST_CASE("blocks hold a step each however the input arrives", "[segment_input]") {
  const bytes body = brio::test::noise(3 * step + 17, 2);
  const std::size_t write_size = GENERATE(1U, 7U, 4096U, 5999U, 6000U, 6001U, 30000U);
  const std::optional<std::uint64_t> expected =
      GENERATE_COPY(std::optional<std::uint64_t>{}, std::optional<std::uint64_t>{body.size()});
  CAPTURE(write_size, expected.has_value());
  block_pool pool;
  segment_input input(pool, step, expected);
  for (std::span<const std::byte> rest = body; !rest.empty();) {
    const std::size_t now = std::min<std::size_t>(write_size, rest.size());
    REQUIRE(input.append(rest.first(now)));
    rest = rest.subspan(now);
  }
  REQUIRE(input.end(operation::finish));
  bytes seen;
  for (int i = 0; i < 3; ++i) {
    const bytes piece = taken(input.next(false));
    CHECK(piece.size() == step);
    seen.insert(seen.end(), piece.begin(), piece.end());
  }
  const segment_input::step last = input.next(false);
  CHECK(last.last);
  CHECK(last.op == operation::finish);
  seen.insert(seen.end(), last.block->bytes().begin(), last.block->bytes().end());
  CHECK(seen == body);
  CHECK(input.backlog() == 0);
  CHECK(input.taken() == body.size());
}

TEST_CASE("what arrives before a flushed step starts joins it", "[segment_input]") {
  const bytes body = brio::test::noise(step, 3);
  block_pool pool;
  segment_input input(pool, step, std::nullopt);
  CHECK_FALSE(input.flush());  // nothing waits
  REQUIRE(input.append(std::span(body).first(10)));
  REQUIRE(input.flush());
  REQUIRE(input.append(std::span(body).subspan(10)));
  const segment_input::step only = input.next(false);
  CHECK(only.op == operation::flush);
  CHECK(std::ranges::equal(only.block->bytes(), body));
  CHECK(input.empty());
}

TEST_CASE("a step can be flushed out of turn", "[segment_input]") {
  const bytes body = brio::test::noise(step, 4);
  block_pool pool;
  segment_input input(pool, step, std::nullopt);
  REQUIRE(input.append(body));
  CHECK(input.next(true).op == operation::flush);
}

TEST_CASE("an end with nothing before it is one empty step", "[segment_input]") {
  block_pool pool;
  segment_input input(pool, step, std::nullopt);
  REQUIRE(input.end(operation::finish));
  REQUIRE(input.decided());
  const segment_input::step only = input.next(false);
  CHECK(only.op == operation::finish);
  CHECK(only.last);
  CHECK(only.block->size() == 0);
}

TEST_CASE("a part that ends after its last flush has no step left", "[segment_input]") {
  block_pool pool;
  segment_input input(pool, step, std::nullopt);
  REQUIRE(input.end(operation::flush));
  CHECK(input.ended());
  CHECK(input.empty());
  CHECK_FALSE(input.decided());
}

TEST_CASE("what is ahead is what is planned, asked for, or as much again", "[segment_input]") {
  const bytes body = brio::test::noise(step, 5);
  block_pool pool;
  SECTION("planned: the rest of it, whatever has arrived") {
    segment_input input(pool, step, 3 * step);
    CHECK(input.ahead(false) == 3 * step);
    REQUIRE(input.append(body));
    REQUIRE(input.append(body));
    CHECK(input.ahead(false) == 3 * step);
    (void)input.next(false);
    CHECK(input.ahead(false) == 2 * step);
  }
  SECTION("more than was planned: nothing, as far as is known") {
    segment_input input(pool, step, 10);
    REQUIRE(input.append(body));
    (void)input.next(true);
    CHECK(input.ahead(false) == 0);
  }
  SECTION("asked for by a flush: what it covers") {
    segment_input input(pool, step, std::nullopt);
    REQUIRE(input.append(body));
    (void)input.next(true);
    REQUIRE(input.append(std::span(body).first(100)));
    CHECK(input.ahead(false) == step + 100);
    CHECK(input.ahead(true) == 100);
    REQUIRE(input.flush());
    CHECK(input.ahead(false) == 100);
  }
}

TEST_CASE("more input is welcome while one block or none is left", "[segment_input]") {
  const bytes body = brio::test::noise(step, 6);
  block_pool pool;
  segment_input input(pool, step, std::nullopt);
  CHECK(input.runs_low());
  REQUIRE(input.append(body));
  CHECK(input.runs_low());
  REQUIRE(input.append(body));
  CHECK_FALSE(input.runs_low());
  (void)input.next(false);
  CHECK(input.runs_low());
  REQUIRE(input.end(operation::finish));
  CHECK_FALSE(input.runs_low());
}

TEST_CASE("input without memory says so and keeps what it has", "[segment_input]") {
  const bytes body = brio::test::noise(2 * step, 7);
  block_pool pool;
  segment_input input(pool, step, std::nullopt);
  REQUIRE(input.append(std::span(body).first(5)));
  {
    brio::fault_plan plan;
    plan.allocate.set(1);
    const brio::fault_link link(plan);
    const brio::fault_scope scope(link);
    CHECK_FALSE(input.append(std::span(body).first(step)));
  }
  input.clear();
  CHECK(input.empty());
  CHECK(input.backlog() == 0);
  {
    brio::fault_plan plan;
    plan.allocate.set(1);
    const brio::fault_link link(plan);
    const brio::fault_scope scope(link);
    CHECK_FALSE(input.end(operation::finish));
  }
}
