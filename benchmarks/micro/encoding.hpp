// What recycled memory is worth to the encoder, what the engine around it costs, and what the machine
// allows to two encoders at once: the ceiling of any claim about parallel compression.
#pragma once

#include <brotli/encode.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <brio/async/inline_executor.hpp>
#include <brio/brotli/encoder.hpp>
#include <brio/engine.hpp>

#include "pairs.hpp"
#include "step.hpp"

namespace brio::micro {

using bytes_view = std::span<const std::byte>;

namespace detail {

/// One encoder over all of `input`, with its memory from `cache`.
inline void encode(workspace_cache& cache, const brotli::encoder_options& options, bytes_view input,
                   std::vector<std::byte>& space) {
  const segment_start start{0, input.size(), input.size()};
  const auto memory = cache.get(brotli::encoder::shape(options, start));
  if (!memory) throw std::bad_alloc();
  auto codec = brotli::encoder::create(options, start, *memory);
  if (!codec) throw std::bad_alloc();
  const auto result = codec->step(input, operation::finish, space);
  if (!result.complete) throw std::runtime_error("the encoder did not finish");
}

[[nodiscard]] inline std::vector<std::byte> space_for(bytes_view input) {
  return std::vector<std::byte>(BrotliEncoderMaxCompressedSize(input.size()));
}

/// libbrotli alone, as it is used where nobody thinks of memory.
inline void encode_bare(const brotli::encoder_options& options, bytes_view input,
                        std::vector<std::byte>& space) {
  const std::unique_ptr<BrotliEncoderState, decltype(&BrotliEncoderDestroyInstance)> state(
      BrotliEncoderCreateInstance(nullptr, nullptr, nullptr), &BrotliEncoderDestroyInstance);
  if (!state) throw std::bad_alloc();
  BrotliEncoderSetParameter(state.get(), BROTLI_PARAM_QUALITY,
                            static_cast<std::uint32_t>(options.quality));
  BrotliEncoderSetParameter(state.get(), BROTLI_PARAM_LGWIN,
                            static_cast<std::uint32_t>(options.window_bits));
  BrotliEncoderSetParameter(state.get(), BROTLI_PARAM_SIZE_HINT,
                            static_cast<std::uint32_t>(input.size()));
  std::size_t input_left = input.size();
  std::size_t space_left = space.size();
  const auto* next_in = reinterpret_cast<const std::uint8_t*>(input.data());
  auto* next_out = reinterpret_cast<std::uint8_t*>(space.data());
  if (BrotliEncoderCompressStream(state.get(), BROTLI_OPERATION_FINISH, &input_left, &next_in,
                                  &space_left, &next_out, nullptr) == BROTLI_FALSE)
    throw std::runtime_error("the encoder failed");
}

}  // namespace detail

/// Taking a workspace and giving it back, against mapping and touching the memory each time. What an
/// encoder of level 6 takes: a state, a ring buffer, a hash table.
[[nodiscard]] inline comparison lease() {
  constexpr std::size_t count = 200;
  constexpr std::size_t page = 4096;
  const auto use = [](workspace_cache& cache) {
    for (std::size_t at = 0; at < count; ++at) {
      const auto memory = cache.get(0);
      if (!memory) throw std::bad_alloc();
      for (const std::size_t size :
           {std::size_t{8} << 10, std::size_t{640} << 10, std::size_t{2048} << 10}) {
        auto* piece = static_cast<volatile char*>(memory->allocate(size));
        if (piece == nullptr) throw std::bad_alloc();
        for (std::size_t place = 0; place < size; place += page) piece[place] = 1;
        memory->release(const_cast<char*>(piece));
      }
    }
  };
  workspace_cache keeps(1);
  workspace_cache forgets(0);
  return compare("lease", 15, count, [&] { use(keeps); }, [&] { use(forgets); });
}

/// The encoder in a recycled workspace against one whose memory is new each time.
[[nodiscard]] inline comparison recycling(const std::string& what, bytes_view input, int quality) {
  const brotli::encoder_options options{quality, 19};
  auto space = detail::space_for(input);
  workspace_cache keeps(1);
  workspace_cache forgets(0);
  return compare(
      "recycled workspace, " + what, 15, 1, [&] { detail::encode(keeps, options, input, space); },
      [&] { detail::encode(forgets, options, input, space); });
}

/// The whole engine on an inline executor against bare libbrotli with the same parameters.
[[nodiscard]] inline comparison whole_engine(const std::string& what, bytes_view input,
                                             int quality) {
  const brotli::encoder_options options{quality, 19};
  auto space = detail::space_for(input);
  engine shared;
  inline_executor executor;
  return compare(
      "engine, " + what, 15, 1,
      [&] { (void)detail::compress<brotli::encoder>(shared, executor, options, input); },
      [&] { detail::encode_bare(options, input, space); });
}

/// Two threads that compress the input once each, against one that does so twice: 0.5 would be perfect.
[[nodiscard]] inline comparison two_threads(const std::string& what, bytes_view input,
                                            int quality) {
  const brotli::encoder_options options{quality, 19};
  auto space = detail::space_for(input);
  auto other_space = detail::space_for(input);
  workspace_cache cache(1);
  workspace_cache other_cache(1);
  return compare(
      "two threads, " + what, 9, 2,
      [&] {
        std::thread other([&] { detail::encode(other_cache, options, input, other_space); });
        detail::encode(cache, options, input, space);
        other.join();
      },
      [&] {
        detail::encode(cache, options, input, space);
        detail::encode(cache, options, input, space);
      });
}

}  // namespace brio::micro
