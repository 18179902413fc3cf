// libbrotli behind the encoder concept. Nothing else in brio includes <brotli/...>.
//
// Facts this rests on (libbrotli 1.0.9, c/enc/encode.c):
// - Encoders started with BROTLI_PARAM_STREAM_OFFSET write no stream header, so that their output
//   continues that of an encoder that ended with a flush. All must have the same window. Offsets
//   above 2^30 are refused; beyond the window all of them mean the same.
// - Such an encoder emits its first two bytes as a block of their own. An operation is therefore over
//   only when a call has returned with space left, no input left and no output pending; when the
//   space ran out nothing is known yet.
// - What is compressed depends on how the input is cut into calls at levels 0 and 1, where each call
//   is a block of its own; and a FINISH without input costs bytes at the levels above.
// - BROTLI_PARAM_SIZE_HINT chooses the hash table: from 1 MiB on one with longer hashes, which at
//   levels 5 and 6 makes long responses smaller (JSON 6 %, JavaScript 1-2 %) for 5-15 % more time while
//   other cores share the cache. At level 4 it would take up to a third more time and 4 MiB, so there
//   none is given; at level 9 it makes JavaScript of 1-2 MB larger (0.1-0.4 %), so there it is given
//   from 2 MiB on.
// - As everybody builds it (BROTLI_ENCODER_EXIT_ON_OOM, c/enc/memory.h) libbrotli calls exit() when an
//   allocator returns a null pointer. Ours therefore never returns then: it jumps out of the call. The
//   frames it leaves are libbrotli's C ones. The encoder is not touched again, not even to destroy it;
//   all it had is in its workspace.
#pragma once

#include <brotli/encode.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>

#include <brio/encoder.hpp>

namespace brio::brotli {

/// Compression parameters, the same for all segments of a response.
struct encoder_options {
  static constexpr int least_quality = BROTLI_MIN_QUALITY;
  static constexpr int most_quality = BROTLI_MAX_QUALITY;
  static constexpr int least_window_bits = BROTLI_MIN_WINDOW_BITS;
  static constexpr int most_window_bits = BROTLI_MAX_WINDOW_BITS;

  /// The level, 0 to 11.
  int quality = 6;
  /// Base 2 logarithm of the largest window, 10 to 24. A response known to be shorter gets the smallest window that spans it.
  int window_bits = 19;
};

class encoder {
 public:
  using options = encoder_options;

  /// Levels 0 and 1 compress each step on its own and gain from larger ones; from level 9 on the
  /// encoder itself collects 256 KiB before it does anything.
  [[nodiscard]] static constexpr std::size_t step_size(const options& o) noexcept {
    const bool large = o.quality <= 1 || o.quality >= 9;
    return std::size_t{large ? 256U : 64U} * 1024;
  }

  /// An estimate from JavaScript and JSON on one 2020s server core; only its magnitude matters.
  [[nodiscard]] static constexpr std::uint64_t microseconds(const options& o,
                                                            std::uint64_t bytes) noexcept {
    constexpr std::array<std::uint64_t, 12> nanoseconds_per_byte{3,  4,  9,  11, 14,  22,
                                                                 27, 35, 45, 70, 500, 1300};
    return bytes * nanoseconds_per_byte[static_cast<std::size_t>(o.quality)] / 1000;
  }

  /// Measured on JavaScript and JSON of 1-5 MB: between -0.2 and +0.2 %, less than the size hint
  /// gains at these levels. The others have no such gain.
  [[nodiscard]] static constexpr bool flush_is_cheap(const options& o) noexcept {
    return o.quality >= 5 && o.quality <= 9;
  }

  /// Hash table, ring buffer, and what grows with the input up to a metablock of a mebibyte or so;
  /// fitted to what libbrotli 1.0.9 asks for.
  [[nodiscard]] static constexpr std::size_t memory(const options& o,
                                                    std::uint64_t bytes) noexcept {
    constexpr std::size_t kib = 1024;
    constexpr std::array<std::size_t, 12> small_table{64,   160,  300,   600,   600,   1100,
                                                      2200, 8600, 17000, 33800, 16400, 16400};
    constexpr std::array<std::size_t, 12> large_table{64,   160,  300,   600,   600,   2200,
                                                      4400, 8600, 17000, 33800, 16400, 16400};
    const segment_start whole{0, bytes, 0};
    const auto level = static_cast<std::size_t>(o.quality);
    const std::size_t table = size_hint(o, whole) >= large_input ? large_table[level]  //
                                                                 : small_table[level];
    const std::size_t window = std::size_t{1} << window_bits(o, whole);
    const auto metablock = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, 1024 * kib));
    return table * kib + 2 * window + 5 * metablock + (o.quality >= 10 ? 8 * window : 0);
  }

  [[nodiscard]] static constexpr unsigned shape(const options& o,
                                                const segment_start& start) noexcept {
    const bool large = size_hint(o, start) >= large_input;
    return static_cast<unsigned>(o.quality) << 8 |
           static_cast<unsigned>(window_bits(o, start)) << 1 | (large ? 1U : 0U);
  }

  [[nodiscard]] static std::optional<encoder> create(const options& o, const segment_start& start,
                                                     workspace& memory) noexcept {
    void* place = memory.allocate(sizeof(instance));
    if (place == nullptr) return std::nullopt;
    encoder made{new (place) instance(memory)};
    instance& made_instance = *made.instance_;
    const bool created = made_instance.call([&made_instance]() noexcept {
      made_instance.state = BrotliEncoderCreateInstance(allocate, release, &made_instance);
    });
    if (!created || made_instance.state == nullptr) return std::nullopt;
    const bool accepted =
        made.set(BROTLI_PARAM_QUALITY, static_cast<std::uint32_t>(o.quality)) &&
        made.set(BROTLI_PARAM_LGWIN, static_cast<std::uint32_t>(window_bits(o, start))) &&
        made.set(BROTLI_PARAM_SIZE_HINT, size_hint(o, start)) &&
        (start.offset == 0 ||
         made.set(BROTLI_PARAM_STREAM_OFFSET, static_cast<std::uint32_t>(std::min<std::uint64_t>(
                                                  start.offset, std::uint32_t{1} << 30))));
    if (!accepted) return std::nullopt;
    return made;
  }

  [[nodiscard]] step_result step(std::span<const std::byte> input, operation op,
                                 std::span<std::byte> space) noexcept {
    std::size_t input_left = input.size();
    std::size_t space_left = space.size();
    const auto* next_in = reinterpret_cast<const std::uint8_t*>(input.data());
    auto* next_out = reinterpret_cast<std::uint8_t*>(space.data());
    BROTLI_BOOL worked = BROTLI_FALSE;
    const bool returned = instance_->call([&, state = instance_->state]() noexcept {
      worked = BrotliEncoderCompressStream(state, native(op), &input_left, &next_in, &space_left,
                                           &next_out, nullptr);
    });
    if (!returned || worked == BROTLI_FALSE) return {0, 0, false, error::encoder_failed};
    return {input.size() - input_left, space.size() - space_left,
            input_left == 0 && space_left > 0 &&
                BrotliEncoderHasMoreOutput(instance_->state) == BROTLI_FALSE};
  }

 private:
  /// In the workspace, so that the allocator finds it wherever the encoder has been moved to.
  struct instance {
    explicit instance(workspace& w) noexcept : memory(w) {}

    /// False when there was no memory and the call did not return. Nothing that the call leaves
    /// behind may have a destructor.
    template <class Call>
    [[nodiscard]] bool call(Call into_libbrotli) noexcept {
      if (setjmp(no_memory) != 0) {
        state = nullptr;
        return false;
      }
      into_libbrotli();
      return true;
    }

    workspace& memory;
    BrotliEncoderState* state = nullptr;
    std::jmp_buf no_memory;
  };

  struct destroy {
    void operator()(instance* i) const noexcept {
      if (i->state != nullptr) BrotliEncoderDestroyInstance(i->state);
      i->memory.release(i);
    }
  };

  /// From this size hint on libbrotli takes larger hash tables (c/enc/quality.h, ChooseHasher).
  static constexpr std::uint32_t large_input = std::uint32_t{1} << 20;

  explicit encoder(instance* i) noexcept : instance_(i) {}

  [[nodiscard]] bool set(BrotliEncoderParameter parameter, std::uint32_t value) noexcept {
    return BrotliEncoderSetParameter(instance_->state, parameter, value) == BROTLI_TRUE;
  }

  /// 0 leaves libbrotli to guess from the first step.
  [[nodiscard]] static constexpr std::uint32_t size_hint(const options& o,
                                                         const segment_start& start) noexcept {
    const std::uint64_t length = start.length.value_or(start.offset + start.buffered);
    if (o.quality == 4 || (o.quality >= 9 && length < 2 * large_input)) return 0;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(length, std::uint32_t{1} << 30));
  }

  [[nodiscard]] static constexpr int window_bits(const options& o,
                                                 const segment_start& start) noexcept {
    if (!start.length) return o.window_bits;
    int bits = BROTLI_MIN_WINDOW_BITS;
    while (bits < o.window_bits && *start.length > std::uint64_t{1} << bits) ++bits;
    return bits;
  }

  [[nodiscard]] static constexpr BrotliEncoderOperation native(operation op) noexcept {
    switch (op) {
      case operation::process:
        return BROTLI_OPERATION_PROCESS;
      case operation::flush:
        return BROTLI_OPERATION_FLUSH;
      case operation::finish:
        break;
    }
    return BROTLI_OPERATION_FINISH;
  }

  static void* allocate(void* opaque, std::size_t size) {
    auto* const i = static_cast<instance*>(opaque);
    void* const piece = i->memory.allocate(size);
    if (piece == nullptr) std::longjmp(i->no_memory, 1);
    return piece;
  }
  static void release(void* opaque, void* piece) {
    static_cast<instance*>(opaque)->memory.release(piece);
  }

  std::unique_ptr<instance, destroy> instance_;
};

static_assert(brio::encoder<encoder>);

}  // namespace brio::brotli
