// How much content a coded body has given so far: Brotli (RFC 7932) and gzip (RFC 1952) are decoded as
// they come and the bytes are counted and forgotten; a body without a coding counts as it is.
//
// One decoder serves one response.
#pragma once

#include <brotli/decode.h>
#include <zlib.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>

#include "response_reader.hpp"

namespace brio::loadgen {

class content_decoder {
 public:
  explicit content_decoder(content_coding coding) : coding_(coding) {
    if (coding_ == content_coding::brotli) {
      brotli_.reset(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr));
      if (!brotli_) throw std::bad_alloc();
    } else if (coding_ == content_coding::gzip) {
      gzip_.reset(new z_stream{});
      constexpr int gzip_wrapper = 16;
      if (::inflateInit2(gzip_.get(), gzip_wrapper + MAX_WBITS) != Z_OK) throw std::bad_alloc();
    }
  }

  /// Takes the next bytes of the body. False when they are not what the coding allows.
  [[nodiscard]] bool feed(std::string_view piece) noexcept {
    switch (coding_) {
      case content_coding::brotli:
        return feed_brotli(piece);
      case content_coding::gzip:
        return feed_gzip(piece);
      case content_coding::identity:
        decoded_ += piece.size();
        return true;
      case content_coding::unknown:
        break;
    }
    return false;
  }

  /// Bytes of content so far.
  [[nodiscard]] std::uint64_t decoded() const noexcept { return decoded_; }

 private:
  struct destroy {
    void operator()(BrotliDecoderState* state) const noexcept {
      BrotliDecoderDestroyInstance(state);
    }
    void operator()(z_stream* stream) const noexcept {
      ::inflateEnd(stream);
      delete stream;
    }
  };

  bool feed_brotli(std::string_view piece) noexcept {
    std::size_t input_left = piece.size();
    const auto* input = reinterpret_cast<const std::uint8_t*>(piece.data());
    auto answer = BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT;
    // Where the input ended it asks for more of it, even if the space did not hold all the output.
    while (answer == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT ||
           BrotliDecoderHasMoreOutput(brotli_.get()) == BROTLI_TRUE) {
      std::size_t space_left = space_.size();
      auto* space = space_.data();
      answer = BrotliDecoderDecompressStream(brotli_.get(), &input_left, &input, &space_left,
                                             &space, nullptr);
      if (answer == BROTLI_DECODER_RESULT_ERROR) return false;
      decoded_ += space_.size() - space_left;
    }
    return input_left == 0;
  }

  bool feed_gzip(std::string_view piece) noexcept {
    // zlib's interface is not const-correct; it does not write to its input.
    gzip_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    gzip_->avail_in = static_cast<uInt>(piece.size());
    int answer = Z_OK;
    do {
      gzip_->next_out = space_.data();
      gzip_->avail_out = static_cast<uInt>(space_.size());
      answer = ::inflate(gzip_.get(), Z_NO_FLUSH);
      decoded_ += space_.size() - gzip_->avail_out;
    } while (answer == Z_OK && gzip_->avail_out == 0);
    // Z_BUF_ERROR: the last call found nothing to do, and more input may come.
    return (answer == Z_OK || answer == Z_BUF_ERROR || answer == Z_STREAM_END) &&
           gzip_->avail_in == 0;
  }

  content_coding coding_;
  std::uint64_t decoded_ = 0;
  std::unique_ptr<BrotliDecoderState, destroy> brotli_;
  std::unique_ptr<z_stream, destroy> gzip_;
  std::array<std::uint8_t, 16384> space_;
};

}  // namespace brio::loadgen
