// libbrotli's decoder, fed piece by piece: the judge of what brio compresses.
#pragma once

#include <brotli/decode.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "bytes.hpp"

namespace brio::test {

class brotli_decoder {
 public:
  /// Decodes what can be decoded once these bytes have arrived.
  void feed(std::span<const std::byte> input) {
    std::size_t input_left = input.size();
    const auto* next_in = reinterpret_cast<const std::uint8_t*>(input.data());
    std::array<std::uint8_t, 16384> space;
    while (!corrupt_) {
      std::size_t space_left = space.size();
      std::uint8_t* next_out = space.data();
      const BrotliDecoderResult result = BrotliDecoderDecompressStream(
          state_.get(), &input_left, &next_in, &space_left, &next_out, nullptr);
      const auto* first = reinterpret_cast<const std::byte*>(space.data());
      output_.insert(output_.end(), first, first + (space.size() - space_left));
      corrupt_ = result == BROTLI_DECODER_RESULT_ERROR;
      // It may ask for input before it has given all its output.
      if (BrotliDecoderHasMoreOutput(state_.get()) == BROTLI_TRUE) continue;
      ended_ = result == BROTLI_DECODER_RESULT_SUCCESS;
      corrupt_ = corrupt_ || input_left > 0;  // bytes behind the end of the stream
      return;
    }
  }

  /// Decoded so far.
  [[nodiscard]] const bytes& output() const { return output_; }
  /// The stream has ended, nothing follows it, and all of it was valid.
  [[nodiscard]] bool ended() const { return ended_ && !corrupt_; }
  [[nodiscard]] bool corrupt() const { return corrupt_; }

 private:
  struct destroy {
    void operator()(BrotliDecoderState* state) const { BrotliDecoderDestroyInstance(state); }
  };

  std::unique_ptr<BrotliDecoderState, destroy> state_{
      BrotliDecoderCreateInstance(nullptr, nullptr, nullptr)};
  bytes output_;
  bool ended_ = false;
  bool corrupt_ = false;
};

/// What a complete stream holds; nothing if it is not a complete, valid stream.
inline std::optional<bytes> brotli_decode(std::span<const std::byte> stream) {
  brotli_decoder decoder;
  decoder.feed(stream);
  if (!decoder.ended()) return std::nullopt;
  return decoder.output();
}

}  // namespace brio::test
