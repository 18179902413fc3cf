// For a body of known length, without flush or cuts, the bytes depend on the body and the options
// alone: not on the executor, its timing, the other responses or the way the input arrives.
#include <brio/response.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

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

namespace {

using brio::test::bytes;
using brio::test::dice;
using brotli_host = brio::test::host<brio::brotli::encoder>;
using brotli_options = brio::response_options<brio::brotli::encoder>;

}  // namespace

TEST_CASE("fixed cuts of a body of unknown length give the same bytes whatever the load",
          "[property]") {
  // Past 2 MiB, where libbrotli takes other hash tables than before.
  const bytes body = brio::test::text(2'600'000, 1);
  for (const int quality : {1, 5, 9}) {
    std::optional<bytes> first;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      CAPTURE(quality, seed);
      dice choose(seed);
      brio::engine shared({.slots = static_cast<unsigned>(choose.between(1, 4))});
      brio::test::manual_executor executor;
      const brotli_options o{.encoding = {.quality = quality},
                             .cuts = {static_cast<unsigned>(choose.between(1, 4)), 300'000, true}};
      brotli_host h(shared, executor, body, o, {.write_size = choose.between(1000, 200'000)});
      brio::test::play<brio::brotli::encoder>(executor, choose, {&h}).run();
      REQUIRE(h.complete());
      if (!first) first = h.output();
      CHECK(h.output() == *first);
    }
    CHECK(brio::test::brotli_decode(*first) == body);
  }
}

TEST_CASE("inline and on an executor the bytes are the same at every level", "[property]") {
  for (int quality = 0; quality <= 11; ++quality) {
    // More than one step at each level; the dearest ones take a second for a megabyte.
    const std::size_t step = brio::brotli::encoder::step_size({quality, 19});
    const bytes body = brio::test::text(step + (quality >= 10 ? 5000 : step + 5000), 1);
    const brotli_options o{.encoding = {.quality = quality}, .length = body.size()};

    brio::engine shared({.slots = 2});
    brio::inline_executor direct;
    brotli_host reference(shared, direct, body, o);
    reference.pump();
    REQUIRE(reference.complete());
    CHECK(brio::test::brotli_decode(reference.output()) == body);

    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      CAPTURE(quality, seed);
      dice choose(seed);
      brio::test::manual_executor executor;
      if (seed == 2) executor.refuse_nth(2);
      brotli_host h(shared, executor, body, o,
                    {.write_size = choose.between(500, 100'000), .keeps_chunks = seed == 2});
      brio::test::play<brio::brotli::encoder>(executor, choose, {&h}).run();
      REQUIRE(h.complete());
      CHECK(h.output() == reference.output());
    }
  }
}
