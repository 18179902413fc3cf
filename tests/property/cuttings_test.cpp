// Random cuttings: whatever the level, the window, the segments, the flushes and the way the input
// arrives, what comes out is one valid stream of what went in.
#include <brio/response.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <brio/brotli/encoder.hpp>
#include <brio/engine.hpp>

#include "brotli_decoder.hpp"
#include "bytes.hpp"
#include "catch.hpp"
#include "dice.hpp"
#include "host.hpp"
#include "manual_executor.hpp"
#include "play.hpp"

namespace {

using brio::engine;
using brio::test::at_rest;
using brio::test::bytes;
using brio::test::dice;
using brio::test::habits;
using brio::test::host;
using brio::test::manual_executor;
using brio::test::play;

using brotli_host = host<brio::brotli::encoder>;
using brotli_options = brio::response_options<brio::brotli::encoder>;

/// 1 to about 2^bits, small ones as likely as large ones.
std::size_t any_magnitude(dice& choose, std::size_t bits) {
  return choose.between(1, std::size_t{1} << choose.below(bits + 1));
}

/// Dear levels get short bodies.
std::size_t any_length(dice& choose, int quality) {
  if (choose.one_in(50)) return 0;
  return any_magnitude(choose, quality >= 10 ? 12 : 16);
}

bytes any_body(dice& choose, std::size_t length) {
  return choose.one_in(5) ? brio::test::noise(length, choose.below(100))
                          : brio::test::text(length, choose.below(100));
}

brotli_options any_options(dice& choose, int quality, std::size_t length) {
  brotli_options o;
  o.encoding = {quality, static_cast<int>(choose.between(10, 24))};
  if (choose.one_in(2)) o.length = choose.one_in(8) ? choose.below(2 * length + 1) : length;
  // At most some thirty segments a response.
  o.cuts = {static_cast<unsigned>(choose.between(1, 6)),
            std::max(any_magnitude(choose, 15), length / 30)};
  o.output_limit = any_magnitude(choose, 18);
  return o;
}

habits any_habits(dice& choose, std::size_t length) {
  habits h;
  h.write_size = std::max(any_magnitude(choose, 17), length / 200);
  for (std::size_t i = choose.below(5); i > 0; --i) h.flush_at.push_back(choose.below(length + 1));
  std::ranges::sort(h.flush_at);
  h.waits_for_flush = choose.one_in(2);
  h.keeps_chunks = choose.one_in(4);
  return h;
}

void check(const brotli_host& h, const habits& manner, const bytes& body) {
  REQUIRE(h.complete());
  REQUIRE(h.wakes_inside_calls() == 0);
  REQUIRE(h.flush_marks().size() <= manner.flush_at.size());
  brio::test::brotli_decoder decoder;
  const std::span<const std::byte> output(h.output());
  std::size_t fed = 0;
  for (std::size_t i = 0; i < h.flush_marks().size(); ++i) {
    decoder.feed(output.subspan(fed, h.flush_marks()[i] - fed));
    fed = h.flush_marks()[i];
    if (manner.waits_for_flush) REQUIRE(decoder.output().size() == manner.flush_at[i]);
  }
  decoder.feed(output.subspan(fed));
  REQUIRE(decoder.ended());
  REQUIRE(decoder.output() == body);
}

}  // namespace

TEST_CASE("ten thousand random cuttings decode to what was written", "[property]") {
  std::array<engine, 4> engines{engine({.slots = 1}), engine({.slots = 2}), engine({.slots = 4}),
                                engine({.slots = 8})};
  std::size_t cut = 0;
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
    CAPTURE(seed);
    dice choose(seed);
    const int quality = static_cast<int>(seed % 12);
    const std::size_t length = any_length(choose, quality);
    const bytes body = any_body(choose, length);
    const brotli_options o = any_options(choose, quality, length);
    const habits manner = any_habits(choose, length);
    engine& shared = engines[choose.below(engines.size())];
    const std::uint64_t segments = shared.counters.encoders;
    manual_executor executor;
    if (choose.one_in(10)) executor.refuse_nth(choose.between(1, 10));
    {
      brotli_host h(shared, executor, body, o, manner);
      play<brio::brotli::encoder>(executor, choose, {&h}).run();
      check(h, manner, body);
    }
    REQUIRE(at_rest(shared));
    if (shared.counters.encoders - segments > 1) ++cut;
  }
  CHECK(cut > 2000);
}
