#include <brio/brotli/encoder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <brio/faults.hpp>
#include <brio/workspace.hpp>

#include "brotli_decoder.hpp"
#include "bytes.hpp"
#include "catch.hpp"

namespace {

using brio::operation;
using brio::segment_start;
using brio::step_result;
using brio::workspace;
using brio::brotli::encoder;
using brio::brotli::encoder_options;
using brio::test::brotli_decode;
using brio::test::bytes;

/// One operation on one run of input, its output taken in pieces of `space` bytes.
bytes run(encoder& e, std::span<const std::byte> input, operation op, std::size_t space) {
  bytes output;
  bytes piece(space);
  for (;;) {
    const step_result r = e.step(input, op, piece);
    REQUIRE(r.failure == brio::error::none);
    input = input.subspan(r.consumed);
    output.insert(output.end(), piece.begin(),
                  piece.begin() + static_cast<std::ptrdiff_t>(r.produced));
    if (r.complete) break;
    REQUIRE(r.produced == space);
  }
  REQUIRE(input.empty());
  return output;
}

bytes compress(const encoder_options& o, const segment_start& start,
               std::span<const std::byte> input, operation op, std::size_t space) {
  const auto memory = workspace::create();
  std::optional<encoder> e = encoder::create(o, start, *memory);
  REQUIRE(e.has_value());
  return run(*e, input, op, space);
}

void append(bytes& to, const bytes& more) { to.insert(to.end(), more.begin(), more.end()); }

/// WBITS of a stream header of at least 10 bits of window (RFC 7932, 9.1).
int window_of(const bytes& stream) {
  const auto first = std::to_integer<unsigned>(stream.at(0));
  if ((first & 1) == 0) return 16;
  if ((first & 0xf) != 1) return static_cast<int>(17 + (first >> 1 & 7));
  const unsigned small = first >> 4 & 7;
  return small == 0 ? 17 : static_cast<int>(8 + small);
}

}  // namespace

TEST_CASE("every level and window gives a stream that decodes", "[encoder]") {
  const bytes input = brio::test::text(20000, 1);
  for (int quality = 0; quality <= 11; ++quality) {
    for (int window = 10; window <= 24; window += 2) {
      CAPTURE(quality, window);
      const bytes output = compress({quality, window}, {}, input, operation::finish, 16384);
      CHECK(brotli_decode(output) == input);
      CHECK(output.size() < input.size());
    }
  }
}

TEST_CASE("the space given for output does not change it", "[encoder]") {
  const bytes input = brio::test::text(30000, 2);
  for (const int quality : {0, 1, 2, 5, 9, 11}) {
    CAPTURE(quality);
    const bytes whole = compress({quality, 18}, {}, input, operation::finish, 65536);
    CHECK(compress({quality, 18}, {}, input, operation::finish, 1) == whole);
    CHECK(compress({quality, 18}, {}, input, operation::finish, 100) == whole);
  }
}

TEST_CASE("an operation is complete only when nothing of it is left inside", "[encoder]") {
  // A segment with an offset emits its first two bytes as a block of their own.
  const bytes input = brio::test::text(3000, 3);
  for (const int quality : {0, 1, 4, 9, 10}) {
    for (const std::size_t space : {1U, 2U, 7U, 4096U}) {
      CAPTURE(quality, space);
      const std::span<const std::byte> all(input);
      bytes stream;
      append(stream,
             compress({quality, 16}, {0, 3000, 0}, all.first(1000), operation::flush, space));
      append(stream, compress({quality, 16}, {1000, 3000, 0}, all.subspan(1000, 1999),
                              operation::flush, space));
      append(stream,
             compress({quality, 16}, {2999, 3000, 0}, all.last(1), operation::finish, space));
      CHECK(brotli_decode(stream) == input);
    }
  }
}

TEST_CASE("what was flushed can be decoded before anything else comes", "[encoder]") {
  const bytes input = brio::test::text(5000, 4);
  const std::span<const std::byte> all(input);
  for (const int quality : {0, 1, 5, 9, 11}) {
    CAPTURE(quality);
    const auto memory = workspace::create();
    std::optional<encoder> e = encoder::create({quality, 19}, {}, *memory);
    REQUIRE(e.has_value());
    brio::test::brotli_decoder decoder;
    decoder.feed(run(*e, all.first(100), operation::process, 1000));
    decoder.feed(run(*e, all.subspan(100, 1900), operation::flush, 1000));
    CHECK(decoder.output().size() == 2000);
    decoder.feed(run(*e, {}, operation::flush, 1000));
    decoder.feed(run(*e, all.subspan(2000), operation::finish, 1000));
    CHECK(decoder.ended());
    CHECK(decoder.output() == input);
  }
}

TEST_CASE("an empty body is a stream too", "[encoder]") {
  for (int quality = 0; quality <= 11; ++quality) {
    CAPTURE(quality);
    const bytes output = compress({quality, 19}, {0, 0, 0}, {}, operation::finish, 16);
    CHECK(brotli_decode(output) == bytes{});
  }
}

TEST_CASE("segments may start beyond the largest offset libbrotli takes", "[encoder]") {
  const bytes input = brio::test::text(4000, 5);
  const std::span<const std::byte> all(input);
  for (const std::uint64_t offset :
       {(std::uint64_t{1} << 30) + 1, std::uint64_t{1} << 32, std::uint64_t{1} << 40}) {
    CAPTURE(offset);
    // The first 2000 bytes stand for so many: past the window all offsets mean the same.
    bytes stream = compress({5, 10}, {}, all.first(2000), operation::flush, 1000);
    append(stream, compress({5, 10}, {offset, {}, 0}, all.last(2000), operation::finish, 1000));
    CHECK(brotli_decode(stream) == input);
  }
}

TEST_CASE("a response known to be short gets the smallest window that spans it", "[encoder]") {
  struct row {
    int window;
    std::optional<std::uint64_t> length;
    int expected;
  };
  for (const row& r : {row{19, {}, 19}, row{24, {}, 24}, row{19, 1, 10}, row{19, 1024, 10},
                       row{19, 1025, 11}, row{19, 100'000, 17}, row{19, 131'073, 18},
                       row{19, 10'000'000, 19}, row{12, 100'000, 12}, row{10, {}, 10}}) {
    CAPTURE(r.window, r.expected);
    const bytes output = compress({5, r.window}, {0, r.length, 0}, brio::test::text(100, 6),
                                  operation::finish, 1000);
    CHECK(window_of(output) == r.expected);
  }
}

TEST_CASE("what is buffered stands for the length of a response where that is unknown",
          "[encoder]") {
  const bytes input = brio::test::text(1'500'000, 7);
  const std::span<const std::byte> all(input);
  const auto in_steps = [&](std::optional<std::uint64_t> length, std::uint64_t buffered) {
    const auto memory = workspace::create();
    std::optional<encoder> e = encoder::create({5, 19}, {0, length, buffered}, *memory);
    bytes output;
    for (std::size_t at = 0; at < all.size(); at += 65536) {
      const std::size_t size = std::min<std::size_t>(65536, all.size() - at);
      const bool last = at + size == all.size();
      append(output,
             run(*e, all.subspan(at, size), last ? operation::finish : operation::process, 16384));
    }
    CHECK(brotli_decode(output) == input);
    return output;
  };
  const bytes hinted = in_steps(input.size(), 0);
  CHECK(in_steps({}, input.size()) == hinted);
  CHECK(in_steps({}, 65536) != hinted);
}

TEST_CASE("an encoder takes over the memory of one of its own shape", "[encoder]") {
  const bytes input = brio::test::text(100'000, 8);
  for (const int quality : {1, 5, 9}) {
    CAPTURE(quality);
    const encoder_options o{quality, 19};
    const segment_start start{0, input.size(), 0};
    const auto memory = workspace::create();
    std::size_t held = 0;
    bytes first;
    for (int i = 0; i < 3; ++i) {
      std::optional<encoder> e = encoder::create(o, start, *memory);
      REQUIRE(e.has_value());
      const bytes output = run(*e, input, operation::finish, 16384);
      if (i == 0) {
        held = memory->bytes();
        first = output;
      }
      CHECK(memory->bytes() == held);
      CHECK(output == first);  // whatever the last one left in it
    }
  }
}

TEST_CASE("shapes differ where the memory wanted does", "[encoder]") {
  const segment_start middling{0, 500'000, 0};
  const unsigned shape = encoder::shape({5, 19}, middling);
  CHECK(encoder::shape({5, 19}, {0, 510'000, 0}) == shape);
  CHECK(encoder::shape({6, 19}, middling) != shape);
  CHECK(encoder::shape({5, 18}, middling) != shape);
  CHECK(encoder::shape({5, 19}, {0, 1000, 0}) != shape);
  CHECK(encoder::shape({5, 19}, {0, 2'000'000, 0}) != shape);
}

TEST_CASE("without memory there is no encoder, and its workspace says why", "[encoder]") {
  brio::fault_plan plan;
  const brio::fault_link link(plan);
  const auto memory = workspace::create();
  const brio::fault_scope scope(link);
  plan.allocate.set(1);
  CHECK_FALSE(encoder::create({5, 19}, {}, *memory).has_value());
  CHECK(memory->failed());
}

TEST_CASE("a step that runs out of memory fails, at every allocation it makes", "[encoder]") {
  for (int quality = 0; quality <= 11; ++quality) {
    CAPTURE(quality);
    const bytes input = brio::test::text(quality >= 10 ? 3'000 : 70'000, 9);
    int failures = 0;
    for (long nth = 1;; ++nth) {
      brio::fault_plan plan;
      const brio::fault_link link(plan);
      const auto memory = workspace::create();
      std::optional<encoder> e = encoder::create({quality, 19}, {0, input.size(), 0}, *memory);
      REQUIRE(e.has_value());
      const brio::fault_scope scope(link);
      plan.allocate.set(nth);
      bytes space(input.size());
      const step_result r = e->step(input, operation::finish, space);
      if (plan.allocate.waiting()) {
        CHECK(r.complete);
        break;
      }
      ++failures;
      CHECK(r.failure == brio::error::encoder_failed);
      CHECK(memory->failed());
    }
    CHECK(failures > 0);
  }
}

TEST_CASE("dearer levels are estimated dearer, and more bytes too", "[encoder]") {
  for (int quality = 1; quality <= 11; ++quality) {
    CHECK(encoder::microseconds({quality, 19}, 1'000'000) >
          encoder::microseconds({quality - 1, 19}, 1'000'000));
  }
  CHECK(encoder::microseconds({5, 19}, 2'000'000) > encoder::microseconds({5, 19}, 1'000'000));
  CHECK(encoder::microseconds({5, 19}, 0) == 0);
}
