// What the engine adds to an encoder's step in the event loop: input copied into a block, a turn of the
// segment's coroutine, an output block delivered. The encoder does nothing, so all of it is overhead;
// copying the input once is what it is compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include <brio/async/inline_executor.hpp>
#include <brio/engine.hpp>
#include <brio/response.hpp>

#include "pairs.hpp"

namespace brio::micro {

/// Takes everything and answers each step with one byte.
class idle_encoder {
 public:
  struct options {};

  static constexpr std::size_t size = std::size_t{64} * 1024;

  static std::size_t step_size(const options&) noexcept { return size; }
  static std::uint64_t microseconds(const options&, std::uint64_t) noexcept { return 0; }
  static bool flush_is_cheap(const options&) noexcept { return false; }
  static std::size_t memory(const options&, std::uint64_t) noexcept { return 0; }
  static unsigned shape(const options&, const segment_start&) noexcept { return 0; }
  static std::optional<idle_encoder> create(const options&, const segment_start&,
                                            workspace&) noexcept {
    return idle_encoder{};
  }
  step_result step(std::span<const std::byte> input, operation,
                   std::span<std::byte> space) noexcept {
    space.front() = std::byte{0};
    return {input.size(), 1, true, error::none};
  }
};

static_assert(encoder<idle_encoder>);

namespace detail {

inline void nobody(void*) noexcept {}

/// Has the whole of `bytes` go through a response and answers how much came out.
template <encoder Encoder>
std::size_t compress(engine& shared, executor_ref executor,
                     const typename Encoder::options& encoding, std::span<const std::byte> bytes) {
  response_options<Encoder> options;
  options.encoding = encoding;
  options.length = bytes.size();
  auto body = response<Encoder>::create(shared, executor, {nobody, nullptr}, options);
  if (!body) throw std::bad_alloc();
  std::size_t produced = 0;
  bool finished = false;
  while (!body.complete()) {
    bytes = bytes.subspan(body.write(bytes));
    if (bytes.empty() && !finished) {
      body.finish();
      finished = true;
    }
    while (const chunk piece = body.take()) produced += piece.bytes().size();
    if (body.failure() != error::none) throw std::runtime_error("the response failed");
  }
  return produced;
}

}  // namespace detail

[[nodiscard]] inline comparison step() {
  constexpr std::size_t steps = 64;
  const std::vector<std::byte> input(steps * idle_encoder::size);
  std::vector<std::byte> copy(idle_encoder::size);
  engine shared;
  inline_executor executor;
  return compare(
      "step", 101, steps,
      [&] {
        if (detail::compress<idle_encoder>(shared, executor, {}, input) != steps)
          throw std::logic_error("a step gave no output");
      },
      [&] {
        for (std::size_t at = 0; at < input.size(); at += copy.size())
          std::memcpy(copy.data(), input.data() + at, copy.size());
      });
}

}  // namespace brio::micro
