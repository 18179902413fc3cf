// Every submission is refused once, and every allocation fails once.
#include <brio/response.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <brio/async/inline_executor.hpp>
#include <brio/brotli/encoder.hpp>
#include <brio/engine.hpp>
#include <brio/faults.hpp>

#include "brotli_decoder.hpp"
#include "bytes.hpp"
#include "catch.hpp"
#include "host.hpp"
#include "manual_executor.hpp"
#include "play.hpp"
#include "store_decoder.hpp"
#include "store_encoder.hpp"

namespace {

using brio::engine;
using brio::error;
using brio::response_options;
using brio::test::at_rest;
using brio::test::bytes;
using brio::test::dice;
using brio::test::habits;
using brio::test::host;
using brio::test::manual_executor;
using brio::test::play;
using brio::test::store_encoder;

using store_options = response_options<store_encoder>;
using brotli_options = response_options<brio::brotli::encoder>;

/// Decodes what has come so far, whole or not.
template <brio::encoder Encoder>
auto decoder_for() {
  if constexpr (std::same_as<Encoder, store_encoder>) {
    return brio::test::store_decoder();
  } else {
    return brio::test::brotli_decoder();
  }
}

template <brio::encoder Encoder>
void require_whole(host<Encoder>& h, std::span<const std::byte> body) {
  REQUIRE(h.complete());
  auto decoder = decoder_for<Encoder>();
  decoder.feed(h.output());
  REQUIRE(decoder.ended());
  REQUIRE(std::ranges::equal(decoder.output(), body));
}

/// What came before a failure is the beginning of a valid stream, and not all of one.
template <brio::encoder Encoder>
void require_visibly_broken(host<Encoder>& h, std::span<const std::byte> body) {
  REQUIRE_FALSE(h.complete());
  auto decoder = decoder_for<Encoder>();
  decoder.feed(h.output());
  REQUIRE_FALSE(decoder.corrupt());
  REQUIRE_FALSE(decoder.ended());
  const bytes& output = decoder.output();
  REQUIRE(output.size() <= body.size());
  REQUIRE(std::ranges::equal(output, body.first(output.size())));
}

/// Fails each allocation of a response in turn. The engine has served another one before, when it is
/// `warm`, so that memory kept for later is part of it. `inline_work`: without an executor.
template <brio::encoder Encoder>
void fail_each_allocation(const response_options<Encoder>& o, const habits& manner,
                          const bytes& body, bool warm, bool inline_work) {
  long failures = 0;
  for (long nth = 1;; ++nth) {
    CAPTURE(nth, warm, inline_work);
    engine shared({.slots = 4});
    manual_executor manual;
    brio::inline_executor direct;
    const brio::executor_ref executor =
        inline_work ? brio::executor_ref(direct) : brio::executor_ref(manual);
    dice choose(static_cast<std::uint64_t>(nth));
    brio::fault_plan plan;
    {
      host<Encoder> before(shared, executor, body, o, manner);
      if (warm) play<Encoder>(manual, choose, {&before}).run();
    }
    plan.allocate.set(nth);
    response_options<Encoder> faulty = o;
    faulty.faults = brio::fault_link(plan);
    {
      host<Encoder> h(shared, executor, body, faulty, manner);
      host<Encoder> other(shared, executor, body, o, manner);
      play<Encoder>(manual, choose, {&h, &other}).run();
      require_whole(other, body);
      if (plan.allocate.waiting()) {
        require_whole(h, body);
        break;
      }
      ++failures;
      REQUIRE(h.failure() == error::out_of_memory);
      require_visibly_broken(h, body);
    }
    REQUIRE(manual.idle());
    REQUIRE(at_rest(shared));
  }
  CHECK(failures > 5);
}

}  // namespace

TEST_CASE("a refused submission changes no byte, whichever it is", "[response][failures]") {
  const bytes body = brio::test::text(900, 1);
  const auto tasks = GENERATE(1U, 4U);
  const store_options o{.length = body.size(), .cuts = {tasks, 200}};
  std::size_t submissions = 0;
  for (std::size_t nth = 1; nth == 1 || nth <= submissions; ++nth) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      CAPTURE(tasks, nth, seed);
      engine shared({.slots = 4});
      manual_executor executor;
      executor.refuse_nth(nth);
      dice choose(seed);
      {
        host<store_encoder> h(shared, executor, body, o);
        play<store_encoder>(executor, choose, {&h}).run();
        require_whole(h, body);
      }
      CHECK(shared.counters.refusals == 1);
      CHECK(at_rest(shared));
      submissions = executor.submissions();
    }
  }
  CHECK(submissions > 10);
}

TEST_CASE("an executor that refuses everything leaves the work to the loop",
          "[response][failures]") {
  const bytes body = brio::test::text(900, 1);
  const auto tasks = GENERATE(1U, 4U);
  const std::uint64_t seed = GENERATE(1U, 2U, 3U);
  CAPTURE(tasks, seed);
  engine shared({.slots = 4});
  manual_executor executor;
  executor.refuse_all();
  dice choose(seed);
  {
    const store_options o{.length = body.size(), .cuts = {tasks, 200}};
    host<store_encoder> one(shared, executor, body, o);
    host<store_encoder> other(shared, executor, body, o);
    play<store_encoder>(executor, choose, {&one, &other}).run();
    require_whole(one, body);
    require_whole(other, body);
  }
  CHECK(shared.counters.refusals >= shared.counters.steps);
  CHECK(at_rest(shared));
}

TEST_CASE("refusals in a row are waited out while other steps run", "[response][failures]") {
  const bytes body = brio::test::text(2000, 1);
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    dice choose(seed);
    engine shared({.slots = 4});
    manual_executor executor;
    {
      const store_options o{.length = body.size(), .cuts = {3, 100}};
      host<store_encoder> one(shared, executor, body, o);
      host<store_encoder> other(shared, executor, body, o);
      play<store_encoder> both(executor, choose, {&one, &other});
      while (both.event()) {
        if (choose.one_in(10)) executor.refuse_next(choose.below(8));
      }
      require_whole(one, body);
      require_whole(other, body);
    }
    CHECK(at_rest(shared));
  }
}

TEST_CASE("a refused step goes to the executor later when something else runs",
          "[response][failures]") {
  const bytes body = brio::test::text(64, 1);
  engine shared({.slots = 4});
  manual_executor executor;
  executor.refuse_nth(2);
  host<store_encoder> one(shared, executor, body, {});
  host<store_encoder> other(shared, executor, body, {});
  one.pump();
  other.pump();
  CHECK(executor.pending() == 1);
  CHECK(shared.counters.steps == 0);  // not on the loop
  executor.run();
  executor.complete();
  CHECK(executor.pending() == 1);
  executor.run();
  executor.complete();
  other.pump();
  require_whole(other, body);
}

TEST_CASE("submissions refused by a fault plan are taken like an executor's refusals",
          "[response][failures]") {
  const bytes body = brio::test::text(900, 1);
  brio::fault_plan plan;
  plan.refuse.set(GENERATE(1, 2, 3, brio::fault_trigger::always));
  engine shared({.slots = 4});
  manual_executor executor;
  dice choose(1);
  host<store_encoder> h(
      shared, executor, body,
      store_options{.length = body.size(), .cuts = {4, 200}, .faults = brio::fault_link(plan)});
  play<store_encoder>(executor, choose, {&h}).run();
  require_whole(h, body);
  CHECK(shared.counters.refusals > 0);
}

TEST_CASE("an allocation that fails ends its response and no other, whichever it is",
          "[response][failures]") {
  const bytes body = brio::test::text(700, 2);
  const bool warm = GENERATE(false, true);
  const bool inline_work = GENERATE(false, true);
  const auto length = GENERATE(false, true);
  store_options o{.cuts = {4, 150}};
  if (length) o.length = body.size();
  fail_each_allocation(o, {.write_size = 100, .flush_at = {0, 10, 10, 300}}, body, warm,
                       inline_work);
}

TEST_CASE("an allocation that fails in Brotli ends its response, whichever it is",
          "[response][failures]") {
  const bytes body = brio::test::text(100'000, 3);
  const int quality = GENERATE(0, 1, 2, 3, 4, 5, 6, 9, 10);
  CAPTURE(quality);
  const brotli_options o{.encoding = {.quality = quality, .window_bits = 16},
                         .length = body.size(),
                         .cuts = {2, 50'000}};
  const bytes part(body.begin(), body.begin() + (quality > 9 ? 6000 : 100'000));
  fail_each_allocation(o, {.flush_at = {1000}}, part, false, false);
  if (quality < 9) fail_each_allocation(o, {.flush_at = {1000}}, part, true, false);
}
