// An encoder that compresses nothing: it proves that the engine works for codecs other than
// libbrotli, and makes order and loss visible. A stream is a row of records, each a letter and maybe
// more:
//
//   S offset    a segment starts; 8 bytes, the input bytes of the response before it
//   D size ...  2 bytes, then that many bytes of input, each repeated `copies` times
//   F           everything before is flushed
//   E           the stream ends
//
// store_decoder.hpp reads it. Numbers are big-endian. It works in memory of its workspace, some of
// which it takes in its first step, so that failures of allocations can be tried there too.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <brio/encoder.hpp>

namespace brio::test {

struct store_options {
  std::size_t step = 64;   ///< bytes of input a step
  unsigned copies = 1;     ///< output bytes for each input byte
  std::uint64_t cost = 0;  ///< microseconds a byte, as estimated
  std::size_t memory = 1;  ///< bytes an encoder takes, as estimated
  unsigned shape = 0;
};

class store_encoder {
 public:
  using options = store_options;

  [[nodiscard]] static std::size_t step_size(const options& o) noexcept { return o.step; }
  [[nodiscard]] static std::uint64_t microseconds(const options& o, std::uint64_t bytes) noexcept {
    return bytes * o.cost;
  }
  [[nodiscard]] static bool flush_is_cheap(const options&) noexcept { return true; }
  [[nodiscard]] static std::size_t memory(const options& o, std::uint64_t) noexcept {
    return o.memory;
  }
  [[nodiscard]] static unsigned shape(const options& o, const segment_start&) noexcept {
    return o.shape;
  }

  [[nodiscard]] static std::optional<store_encoder> create(const options& o,
                                                           const segment_start& start,
                                                           workspace& memory) noexcept {
    void* place = memory.allocate(sizeof(state));
    if (place == nullptr) return std::nullopt;
    store_encoder made(new (place) state{o, {}, 0, 0, nullptr, 0, 0, 0, false}, memory);
    made.record('S', start.offset, 8);
    return made;
  }

  [[nodiscard]] step_result step(std::span<const std::byte> input, operation op,
                                 std::span<std::byte> space) noexcept {
    state& s = *state_;
    if (s.payload == nullptr) {
      s.payload = static_cast<std::byte*>(memory_->allocate(s.made_for.step));
      if (s.payload == nullptr) return {0, 0, false, error::encoder_failed};
    }
    step_result result;
    for (;;) {
      result.produced += drain(space.subspan(result.produced));
      if (s.head_sent < s.head_size || s.payload_sent < s.payload_size) return result;
      const std::span<const std::byte> rest = input.subspan(result.consumed);
      if (!rest.empty()) {
        s.payload_size = std::min(rest.size(), s.made_for.step);
        s.payload_sent = 0;
        std::memcpy(s.payload, rest.data(), s.payload_size);
        record('D', s.payload_size, 2);
        result.consumed += s.payload_size;
      } else if (op != operation::process && !s.marked) {
        s.marked = true;
        record(op == operation::flush ? 'F' : 'E', 0, 0);
      } else {
        s.marked = false;
        result.complete = true;
        return result;
      }
    }
  }

 private:
  struct state {
    options made_for;
    std::array<std::byte, 9> head;
    std::size_t head_size;
    std::size_t head_sent;
    std::byte* payload;
    std::size_t payload_size;
    std::size_t payload_sent;  // in bytes of input
    unsigned copies_sent;      // of the next of them
    bool marked;               // this operation's mark has been written
  };
  struct release {
    workspace* memory;
    void operator()(state* s) const noexcept {
      memory->release(s->payload);
      memory->release(s);
    }
  };

  store_encoder(state* s, workspace& memory) noexcept
      : memory_(&memory), state_(s, release{&memory}) {}

  void record(char letter, std::uint64_t number, std::size_t width) noexcept {
    state& s = *state_;
    s.head[0] = static_cast<std::byte>(letter);
    for (std::size_t i = 0; i < width; ++i) {
      s.head[width - i] = static_cast<std::byte>(number & 0xff);
      number >>= 8;
    }
    s.head_size = width + 1;
    s.head_sent = 0;
  }

  std::size_t drain(std::span<std::byte> space) noexcept {
    state& s = *state_;
    std::size_t written = 0;
    while (written < space.size() && s.head_sent < s.head_size) {
      space[written++] = s.head[s.head_sent++];
    }
    while (written < space.size() && s.payload_sent < s.payload_size) {
      space[written++] = s.payload[s.payload_sent];
      if (++s.copies_sent < s.made_for.copies) continue;
      s.copies_sent = 0;
      ++s.payload_sent;
    }
    return written;
  }

  workspace* memory_;
  std::unique_ptr<state, release> state_;
};

static_assert(encoder<store_encoder>);

}  // namespace brio::test
