// Responses while memory is short: some are refused, encoders are given back and made anew, and
// whoever has been taken is served to the end.
#include <brio/response.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <brio/async/inline_executor.hpp>
#include <brio/brotli/encoder.hpp>
#include <brio/engine.hpp>

#include "brotli_decoder.hpp"
#include "bytes.hpp"
#include "catch.hpp"
#include "dice.hpp"
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
using brio::test::store_decode;
using brio::test::store_encoder;

using store_host = host<store_encoder>;
using store_options = response_options<store_encoder>;

constexpr std::size_t step = 64;
constexpr std::size_t mib = std::size_t{1} << 20;

}  // namespace

TEST_CASE("a response that memory has no room for is refused with the reason", "[response]") {
  engine shared({.slots = 1, .memory_limit = mib});
  brio::inline_executor executor;
  const bytes body = brio::test::text(step, 1);
  const store_options o{.encoding = {.memory = mib / 2}};
  std::vector<std::unique_ptr<store_host>> taken;
  for (;;) {
    taken.push_back(std::make_unique<store_host>(shared, executor, body, o));
    if (!taken.back()->body()) break;
    REQUIRE(taken.size() < 100);
  }
  CHECK(taken.back()->failure() == error::over_limit);
  CHECK(taken.size() > 1);
  taken.front()->drop();
  const store_host another(shared, executor, body, o);
  CHECK(another.failure() == error::none);
}

TEST_CASE("an encoder that rests is given back for another response, and goes on with a new one",
          "[response]") {
  // Room for one encoder.
  engine shared({.slots = 2, .memory_limit = 4 * mib});
  const store_options o{.encoding = {.memory = 3 * mib / 2}, .length = 10 * step};
  const bytes body = brio::test::text(10 * step, 1);
  const std::span<const std::byte> all(body);
  manual_executor executor;
  store_host resting(shared, executor, all.subspan(2 * step + 10), o);
  CHECK(resting.body().write(all.first(2 * step + 10)) == 2 * step + 10);
  executor.drain();
  CHECK(shared.memory_budget.claimed() > 0);

  store_host one(shared, executor, body, o);
  store_host other(shared, executor, body, o);
  one.pump();
  other.pump();
  dice choose(1);
  play<store_encoder>(executor, choose, {&one, &other}).run();
  CHECK(one.complete());
  CHECK(other.complete());
  CHECK(shared.memory_budget.asked_back() > 0);

  play<store_encoder>(executor, choose, {&resting}).run();
  REQUIRE(resting.complete());
  CHECK(store_decode(resting.output()) == body);
  CHECK(resting.flush_marks().empty());  // nobody asked
}

TEST_CASE("a response waits for memory without a slot", "[response]") {
  // One slot, and memory for one encoder.
  engine shared({.slots = 1, .memory_limit = 2 * mib});
  const store_options o{.encoding = {.memory = mib}, .length = 10 * step};
  const bytes body = brio::test::text(10 * step, 1);
  const std::span<const std::byte> all(body);
  manual_executor executor;
  store_host first(shared, executor, {}, o);
  CHECK(first.body().write(all.first(2 * step + 10)) == 2 * step + 10);
  executor.drain();

  store_host second(shared, executor, body, o);
  second.pump();
  REQUIRE(shared.memory_budget.asked_back() == 1);
  REQUIRE(first.body().in_flight() == 1);  // its last step before it gives its encoder back
  CHECK(first.body().write(all.subspan(2 * step + 10, 3 * step)) == 3 * step);
  dice choose(1);
  play<store_encoder>(executor, choose, {&second}).run();
  CHECK(second.complete());
}

TEST_CASE("whatever the memory limit, each response is refused or whole", "[response]") {
  std::size_t refused = 0;
  std::size_t asked_back = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    dice choose(seed);
    engine shared({.slots = static_cast<unsigned>(choose.between(1, 4)),
                   .memory_limit = choose.between(1, 3 * mib)});
    manual_executor executor;
    std::vector<bytes> bodies;
    std::vector<unsigned> copies;
    std::vector<bool> flushes;
    std::vector<std::unique_ptr<store_host>> hosts;
    for (std::size_t i = 0; i < 3; ++i) {
      bodies.push_back(brio::test::text(choose.below(14 * step), seed));
      copies.push_back(choose.one_in(2) ? 1 : static_cast<unsigned>(choose.between(200, 1500)));
    }
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t size = bodies[i].size();
      store_options o{
          .encoding = {.copies = copies[i], .memory = choose.between(1, mib)},
          .cuts = {static_cast<unsigned>(choose.between(1, 4)), choose.between(1, 5 * step)},
          .output_limit = choose.between(1, 100'000)};
      if (choose.one_in(2)) o.length = size;
      habits h{.write_size = choose.between(20, 400),
               .waits_for_flush = choose.one_in(2),
               .keeps_chunks = choose.one_in(2)};
      flushes.push_back(choose.one_in(2));
      if (flushes.back()) h.flush_at = {size / 3, size / 2};
      hosts.push_back(std::make_unique<store_host>(shared, executor, bodies[i], o, h));
    }
    play<store_encoder>(executor, choose, {hosts[0].get(), hosts[1].get(), hosts[2].get()}).run();
    for (std::size_t i = 0; i < 3; ++i) {
      if (!hosts[i]->body()) {
        REQUIRE(hosts[i]->failure() == error::over_limit);
        ++refused;
        continue;
      }
      REQUIRE(hosts[i]->complete());
      REQUIRE(store_decode(hosts[i]->output(), copies[i]) == bodies[i]);
      REQUIRE(hosts[i]->wakes_inside_calls() == 0);
      REQUIRE(hosts[i]->flush_marks().size() <= (flushes[i] ? 2 : 0));
    }
    hosts.clear();
    asked_back += shared.memory_budget.asked_back();
    REQUIRE(at_rest(shared));
  }
  CHECK(refused > 50);
  CHECK(asked_back > 50);
}

TEST_CASE("Brotli goes on at its offset with a new encoder after it gave one back", "[response]") {
  const int quality = GENERATE(0, 1, 3, 5, 9);
  CAPTURE(quality);
  using brotli_host = host<brio::brotli::encoder>;
  const bytes body = brio::test::text(900'000, 1);
  const response_options<brio::brotli::encoder> o{
      .encoding = {.quality = quality, .window_bits = 18}, .length = body.size()};
  engine shared({.slots = 1, .memory_limit = 3 * mib});
  manual_executor executor;
  dice choose(1);
  brotli_host one(shared, executor, body, o, {.write_size = 100'000, .keeps_chunks = true});
  brotli_host other(shared, executor, body, o, {.write_size = 100'000, .keeps_chunks = true});
  REQUIRE(one.body());
  play<brio::brotli::encoder>(executor, choose, {&one, &other}).run();
  REQUIRE(one.complete());
  CHECK(brio::test::brotli_decode(one.output()) == body);
  if (!other.body()) return;
  REQUIRE(other.complete());
  CHECK(brio::test::brotli_decode(other.output()) == body);
}

TEST_CASE("a million small events on one response take no more memory than a hundred",
          "[response]") {
  engine shared({.slots = 1});
  brio::inline_executor executor;
  auto body = brio::response<store_encoder>::create(
      shared, executor, {[](void*) noexcept {}, nullptr}, store_options{});
  REQUIRE(body);
  const bytes event = brio::test::text(20, 1);
  std::size_t early = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    REQUIRE(body.write(event) == event.size());
    body.flush();
    bool flushed = false;
    while (const brio::chunk piece = body.take()) flushed = flushed || piece.flush();
    REQUIRE(flushed);
    if (i == 100) early = shared.memory();
  }
  CHECK(shared.memory() == early);
}
