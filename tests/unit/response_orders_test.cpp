// Every order in which four segments in flight can be run and completed.
#include <brio/response.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

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
using brio::response_options;
using brio::test::at_rest;
using brio::test::bytes;
using brio::test::dice;
using brio::test::host;
using brio::test::manual_executor;
using brio::test::store_encoder;

constexpr std::size_t segments = 4;

/// A response of four segments, each one step, all with the executor.
template <brio::encoder Encoder>
class four_in_flight {
 public:
  four_in_flight(const bytes& body, const typename Encoder::options& encoding)
      : host_(shared_, executor_, body,
              response_options<Encoder>{.encoding = encoding,
                                        .length = body.size(),
                                        .cuts = {segments, body.size() / segments}}) {
    host_.pump();
    REQUIRE(executor_.pending() == segments);
  }

  void run(std::size_t segment) {
    executor_.run(remove(pending_, segment)), done_.push_back(segment);
  }
  void complete(std::size_t segment) {
    executor_.complete(remove(done_, segment));
    completed_[segment] = true;
    if (host_.ready()) host_.pump();
  }

  /// Segments completed without one before them that is not.
  [[nodiscard]] std::size_t deliverable() const {
    return static_cast<std::size_t>(std::ranges::find(completed_, false) - completed_.begin());
  }

  host<Encoder>& output() { return host_; }

 private:
  static std::size_t remove(std::vector<std::size_t>& from, std::size_t segment) {
    const auto found = std::ranges::find(from, segment);
    const auto position = static_cast<std::size_t>(found - from.begin());
    from.erase(found);
    return position;
  }

  engine shared_{{.slots = segments}};
  manual_executor executor_;
  std::vector<std::size_t> pending_{0, 1, 2, 3};
  std::vector<std::size_t> done_;
  std::array<bool, segments> completed_{};
  host<Encoder> host_;
};

}  // namespace

TEST_CASE("four segments may be run and completed in any order: bytes leave in theirs",
          "[response][orders]") {
  constexpr std::size_t step = 64;
  const bytes body = brio::test::text(segments * step, 1);
  // Events 0 to 3 run a segment, 4 to 7 complete it.
  std::array<std::size_t, 2 * segments> order{0, 1, 2, 3, 4, 5, 6, 7};
  std::size_t orders = 0;
  do {
    const auto at = [&](std::size_t event) { return std::ranges::find(order, event); };
    bool possible = true;
    for (std::size_t s = 0; s < segments; ++s) possible = possible && at(s) < at(s + segments);
    if (!possible) continue;
    ++orders;
    four_in_flight<store_encoder> scene(body, {});
    brio::test::store_decoder decoder;
    std::size_t seen = 0;
    for (const std::size_t event : order) {
      if (event < segments) {
        scene.run(event);
      } else {
        scene.complete(event - segments);
      }
      const bytes& output = scene.output().output();
      decoder.feed(std::span(output).subspan(seen));
      seen = output.size();
      REQUIRE(decoder.output().size() == scene.deliverable() * step);
    }
    REQUIRE(scene.output().complete());
    REQUIRE(decoder.ended());
    REQUIRE(decoder.output() == body);
    REQUIRE(decoder.segments() == segments);
    REQUIRE(scene.output().wakes_inside_calls() == 0);
  } while (std::ranges::next_permutation(order).found);
  CHECK(orders == 2520);  // 8! / 2^4
}

TEST_CASE("four Brotli segments completed in any order are one stream", "[response][orders]") {
  const bytes body = brio::test::text(20'000, 2);
  const int quality = GENERATE(0, 1, 5, 9);
  CAPTURE(quality);
  std::array<std::size_t, segments> order{0, 1, 2, 3};
  std::optional<bytes> first;
  do {
    four_in_flight<brio::brotli::encoder> scene(body, {quality, 16});
    for (std::size_t s = 0; s < segments; ++s) scene.run(segments - 1 - s);
    for (const std::size_t s : order) scene.complete(s);
    REQUIRE(scene.output().complete());
    if (!first) {
      first = scene.output().output();
      REQUIRE(brio::test::brotli_decode(*first) == body);
    }
    REQUIRE(scene.output().output() == *first);
  } while (std::ranges::next_permutation(order).found);
}

TEST_CASE("segments of many steps give the same bytes in every order tried", "[response][orders]") {
  constexpr std::size_t step = 64;
  const bytes body = brio::test::text(segments * 5 * step + 3, 3);
  std::optional<bytes> first;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    dice choose(seed);
    engine shared({.slots = segments});
    manual_executor executor;
    {
      host<store_encoder> h(
          shared, executor, body,
          response_options<store_encoder>{.length = body.size(), .cuts = {segments, 5 * step}},
          {.write_size = choose.between(1, 2000)});
      brio::test::play<store_encoder>(executor, choose, {&h}).run();
      REQUIRE(h.complete());
      if (!first) {
        first = h.output();
        REQUIRE(brio::test::store_decode(*first) == body);
      }
      REQUIRE(h.output() == *first);
    }
    REQUIRE(at_rest(shared));
  }
}
