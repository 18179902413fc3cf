#include <brio/segment.hpp>

#include <cstddef>
#include <span>
#include <vector>

#include <brio/async/inline_executor.hpp>
#include <brio/engine.hpp>

#include "bytes.hpp"
#include "catch.hpp"
#include "host.hpp"
#include "manual_executor.hpp"
#include "play.hpp"
#include "store_decoder.hpp"
#include "store_encoder.hpp"

namespace {

using brio::engine;
using brio::response_options;
using brio::test::bytes;
using brio::test::dice;
using brio::test::habits;
using brio::test::host;
using brio::test::manual_executor;
using brio::test::play;
using brio::test::store_decode;
using brio::test::store_encoder;

using options = response_options<store_encoder>;

constexpr std::size_t step = 64;

bytes output_of(const bytes& body, const habits& h, std::uint64_t seed) {
  engine shared({.slots = 2});
  manual_executor executor;
  dice choose(seed);
  host<store_encoder> one(shared, executor, body, options{.length = body.size()}, h);
  play<store_encoder>(executor, choose, {&one}).run();
  REQUIRE(one.complete());
  return one.output();
}

}  // namespace

TEST_CASE("steps have a fixed size however the input arrives", "[segment]") {
  const bytes body = brio::test::text(5 * step + 10, 1);
  const bytes whole = output_of(body, {}, 1);
  REQUIRE(store_decode(whole) == body);
  std::uint64_t seed = 0;
  for (const std::size_t write_size : {1U, 3U, 63U, 64U, 65U, 100U, 128U, 320U}) {
    CAPTURE(write_size);
    CHECK(output_of(body, {.write_size = write_size}, ++seed) == whole);
  }
}

TEST_CASE("a full block waits until it is known what follows it", "[segment]") {
  engine shared({.slots = 2});
  manual_executor executor;
  const bytes body = brio::test::text(step, 1);
  host<store_encoder> h(shared, executor, body, {}, {.finishes = false});
  h.pump();
  CHECK(h.left() == 0);
  CHECK(executor.submissions() == 0);
  h.body().finish();
  CHECK(executor.submissions() == 1);
  executor.run();
  executor.complete();
  h.pump();
  CHECK(h.complete());
  CHECK(store_decode(h.output()) == body);
}

TEST_CASE("the end is part of the last step, never a step of its own", "[segment]") {
  for (const std::size_t steps : {1U, 2U, 5U}) {
    engine shared({.slots = 2});
    brio::inline_executor executor;
    const bytes body = brio::test::text(steps * step, 1);
    host<store_encoder> h(shared, executor, body, {});
    h.pump();
    REQUIRE(h.complete());
    CHECK(shared.counters.steps == steps);
  }
}

TEST_CASE("what arrives before a flushed step has started joins it", "[segment]") {
  engine shared({.slots = 1});
  manual_executor executor;
  const bytes body = brio::test::text(step + 30, 1);
  const std::span<const std::byte> all(body);
  host<store_encoder> h(shared, executor, {}, {}, {.finishes = false});
  CHECK(h.body().write(all.first(step + 10)) == step + 10);
  h.body().flush();  // the first step is with the executor
  CHECK(h.body().write(all.last(20)) == 20);
  dice choose(1);
  play<store_encoder>(executor, choose, {&h}).run();
  CHECK(shared.counters.steps == 2);
  CHECK(h.flush_marks() == std::vector{h.output().size()});
  brio::test::store_decoder decoder;
  decoder.feed(h.output());
  CHECK(decoder.output() == body);
}

TEST_CASE("an encoder is made with the first step and gone with the last", "[segment]") {
  engine shared({.slots = 1});
  manual_executor executor;
  const bytes body = brio::test::text(2 * step, 1);
  host<store_encoder> h(shared, executor, body, {});
  CHECK(h.body().write(std::span(body).first(step)) == step);
  CHECK(shared.counters.encoders == 0);
  CHECK(h.body().write(std::span(body).last(step)) == step);
  CHECK(shared.counters.encoders == 1);
  h.body().finish();
  for (int i = 0; i < 2; ++i) {
    CHECK(shared.workspaces.idle_bytes() == 0);
    executor.run();
    executor.complete();
  }
  CHECK(shared.workspaces.idle_bytes() > 0);
}

TEST_CASE("a step with more output than space goes on with more space", "[segment]") {
  // 64 bytes become 128 KiB, and a step has 64 KiB of space at a time.
  constexpr unsigned copies = 2048;
  engine shared({.slots = 1});
  manual_executor executor;
  dice choose(1);
  const bytes body = brio::test::text(3 * step, 1);
  host<store_encoder> h(shared, executor, body,
                        options{.encoding = {.copies = copies}, .output_limit = 1 << 20});
  play<store_encoder>(executor, choose, {&h}).run();
  REQUIRE(h.complete());
  CHECK(store_decode(h.output(), copies) == body);
  CHECK(executor.submissions() > 2 * 3);
}

TEST_CASE("a segment without input or room holds no slot", "[segment]") {
  engine shared({.slots = 1});
  manual_executor executor;
  const bytes body = brio::test::text(2 * step, 1);
  host<store_encoder> h(shared, executor, body, {}, {.finishes = false});
  h.pump();
  CHECK(shared.jobs.running() == 1);
  executor.run();
  executor.complete();
  CHECK(shared.jobs.running() == 0);
  CHECK(shared.jobs.waiting() == 0);
}
