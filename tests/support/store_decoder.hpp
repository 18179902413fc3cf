// Reads what store_encoder wrote and finds everything that can be wrong with it: bytes lost, repeated
// or out of order, a segment that was not flushed before the next, anything behind the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "bytes.hpp"

namespace brio::test {

class store_decoder {
 public:
  explicit store_decoder(unsigned copies = 1) : copies_(copies) {}

  void feed(std::span<const std::byte> input) {
    unread_.insert(unread_.end(), input.begin(), input.end());
    while (!corrupt_ && read_record()) {
    }
    unread_.erase(unread_.begin(), unread_.begin() + static_cast<std::ptrdiff_t>(read_));
    read_ = 0;
  }

  [[nodiscard]] const bytes& output() const { return output_; }
  [[nodiscard]] bool ended() const { return ended_ && !corrupt_ && unread_.empty(); }
  [[nodiscard]] bool corrupt() const { return corrupt_; }
  [[nodiscard]] unsigned segments() const { return segments_; }

 private:
  /// False when the next record has not arrived as a whole.
  bool read_record() {
    const std::span<const std::byte> rest = std::span(unread_).subspan(read_);
    if (rest.empty()) return false;
    switch (static_cast<char>(rest[0])) {
      case 'S':
        if (rest.size() < 9) return false;
        corrupt_ = corrupt_ || ended_ || !flushed_ || number(rest.subspan(1, 8)) != output_.size();
        ++segments_;
        read_ += 9;
        break;
      case 'D': {
        if (rest.size() < 3) return false;
        const std::size_t size = number(rest.subspan(1, 2));
        if (rest.size() < 3 + size * copies_) return false;
        for (std::size_t i = 0; i < size; ++i) {
          const std::byte first = rest[3 + i * copies_];
          for (unsigned c = 1; c < copies_; ++c) {
            corrupt_ = corrupt_ || rest[3 + i * copies_ + c] != first;
          }
          output_.push_back(first);
        }
        corrupt_ = corrupt_ || ended_ || segments_ == 0;
        flushed_ = false;
        read_ += 3 + size * copies_;
        break;
      }
      case 'F':
        corrupt_ = corrupt_ || ended_ || segments_ == 0;
        flushed_ = true;
        ++read_;
        break;
      case 'E':
        corrupt_ = corrupt_ || ended_ || segments_ == 0;
        ended_ = true;
        ++read_;
        break;
      default:
        corrupt_ = true;
    }
    return true;
  }

  static std::size_t number(std::span<const std::byte> digits) {
    std::size_t value = 0;
    for (const std::byte digit : digits) value = value << 8 | std::to_integer<std::size_t>(digit);
    return value;
  }

  unsigned copies_;
  bytes unread_;
  std::size_t read_ = 0;
  bytes output_;
  unsigned segments_ = 0;
  bool flushed_ = true;  // nothing precedes the first segment
  bool ended_ = false;
  bool corrupt_ = false;
};

/// What a complete stream holds; nothing if it is not a complete, valid stream.
inline std::optional<bytes> store_decode(std::span<const std::byte> stream, unsigned copies = 1) {
  store_decoder decoder(copies);
  decoder.feed(stream);
  if (!decoder.ended()) return std::nullopt;
  return decoder.output();
}

}  // namespace brio::test
