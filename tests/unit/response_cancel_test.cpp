// A response is dropped or cancelled after every event it can live through; what a worker can see
// stays until the worker is done, and nothing is left in the end.
#include <brio/response.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

#include <brio/brotli/encoder.hpp>
#include <brio/engine.hpp>

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

enum class ending { dropped, cancelled, dropped_with_chunks };

template <brio::encoder Encoder>
struct scenario {
  response_options<Encoder> options;
  habits manner;
  unsigned slots = 4;
  std::size_t memory_limit = std::size_t{1} << 30;
};

std::optional<bytes> decode(const bytes& output, const response_options<store_encoder>& o) {
  return brio::test::store_decode(output, o.encoding.copies);
}
std::optional<bytes> decode(const bytes& output, const response_options<brio::brotli::encoder>&) {
  return brio::test::brotli_decode(output);
}

/// Plays two responses until `events` of them have happened, ends the first, and plays on. False when
/// there were fewer.
template <brio::encoder Encoder>
bool end_after(std::size_t events, ending how, const scenario<Encoder>& given, const bytes& body,
               std::uint64_t seed) {
  engine shared({.slots = given.slots, .memory_limit = given.memory_limit});
  manual_executor executor;
  dice choose(seed);
  bool reached = true;
  {
    host<Encoder> ended(shared, executor, body, given.options, given.manner);
    host<Encoder> other(shared, executor, body, given.options, given.manner);
    play<Encoder> both(executor, choose, {&ended, &other});
    for (std::size_t i = 0; i < events && reached; ++i) reached = both.event();

    const bool was_complete = ended.complete();
    switch (how) {
      case ending::dropped:
        ended.send_all();
        ended.drop();
        break;
      case ending::dropped_with_chunks:
        ended.drop();
        break;
      case ending::cancelled:
        ended.body().cancel();
        REQUIRE(ended.failure() == error::cancelled);
        REQUIRE(ended.complete() == was_complete);
        REQUIRE_FALSE(ended.body().take());
        break;
    }
    both.run();
    REQUIRE(executor.idle());
    if (how == ending::cancelled) REQUIRE(ended.body().in_flight() == 0);
    REQUIRE(other.complete());
    REQUIRE(decode(other.output(), given.options) == body);
    REQUIRE(other.wakes_inside_calls() + ended.wakes_inside_calls() == 0);
  }
  REQUIRE(at_rest(shared));
  return reached;
}

template <brio::encoder Encoder>
void end_after_each_event(const scenario<Encoder>& given, const bytes& body, std::uint64_t seed) {
  const ending how = GENERATE(ending::dropped, ending::cancelled, ending::dropped_with_chunks);
  CAPTURE(static_cast<int>(how), seed);
  std::size_t events = 0;
  while (end_after(events, how, given, body, seed)) ++events;
  CHECK(events > 20);
}

}  // namespace

TEST_CASE("a response with segments in parallel may end after any event", "[response][cancel]") {
  const bytes body = brio::test::text(800, 1);
  scenario<store_encoder> given;
  given.options = {.length = body.size(), .cuts = {4, 100}};
  given.manner = {.keeps_chunks = true};
  given.slots = GENERATE(1U, 3U, 8U);
  end_after_each_event(given, body, GENERATE(1U, 2U, 3U, 4U, 5U));
}

TEST_CASE("a response of unknown length with flushes may end after any event",
          "[response][cancel]") {
  const bytes body = brio::test::text(500, 2);
  scenario<store_encoder> given;
  given.options = {.cuts = {3, 70}};
  given.manner = {.write_size = 50, .flush_at = {30, 200, 300}, .keeps_chunks = true};
  given.slots = 2;
  end_after_each_event(given, body, GENERATE(1U, 2U, 3U, 4U, 5U));
}

TEST_CASE("a response that pauses for want of room may end after any event", "[response][cancel]") {
  const bytes body = brio::test::text(400, 3);
  scenario<store_encoder> given;
  given.options = {
      .encoding = {.copies = 300}, .length = body.size(), .cuts = {2, 200}, .output_limit = 10'000};
  given.manner = {.keeps_chunks = true};
  given.slots = 2;
  end_after_each_event(given, body, GENERATE(1U, 2U));
}

TEST_CASE("a response that shares memory for one encoder may end after any event",
          "[response][cancel]") {
  constexpr std::size_t mib = std::size_t{1} << 20;
  const bytes body = brio::test::text(500, 5);
  scenario<store_encoder> given;
  given.options = {.encoding = {.copies = 200, .memory = mib},
                   .length = body.size(),
                   .cuts = {2, 200},
                   .output_limit = 10'000};
  given.manner = {.write_size = 150, .keeps_chunks = true};
  given.slots = 1;
  given.memory_limit = 2 * mib;
  end_after_each_event(given, body, GENERATE(1U, 2U, 3U));
}

TEST_CASE("a Brotli response may end after any event", "[response][cancel]") {
  const bytes body = brio::test::text(150'000, 4);
  scenario<brio::brotli::encoder> given;
  given.options = {
      .encoding = {.quality = 1, .window_bits = 16}, .length = body.size(), .cuts = {3, 50'000}};
  given.manner = {.flush_at = {1000}, .keeps_chunks = true};
  given.slots = 2;
  end_after_each_event(given, body, 1);
}
