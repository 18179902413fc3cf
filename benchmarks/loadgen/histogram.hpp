// A histogram of durations whose relative error is fixed: every value is reported within 0.4 % of
// what was recorded, from one nanosecond to centuries, in 59 KB and with no allocation per record.
//
// Buckets are log-linear, the layout that HdrHistogram made known: each power of two is divided into
// 128 equal parts, so a bucket is never wider than 1/128 of the values it holds, and the middle of the
// bucket, which is what `percentile` answers with, is at most half of that away. Values below 128 ns
// have a bucket each. The largest value is kept exactly.
//
// A value type for one thread; it knows nothing of clocks.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace brio::loadgen {

class histogram {
 public:
  /// Counts one duration; a negative one counts as zero.
  void record(std::chrono::nanoseconds duration) noexcept {
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
    ++buckets_[index_of(value)];
    ++count_;
    largest_ = std::max(largest_, value);
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  [[nodiscard]] std::chrono::nanoseconds max() const noexcept { return to_duration(largest_); }

  /// The smallest duration that at least `percent` (0 to 100) of the records do not exceed, within
  /// the error named above; zero for an empty histogram.
  [[nodiscard]] std::chrono::nanoseconds percentile(double percent) const noexcept {
    const auto share = std::ceil(percent / 100.0 * static_cast<double>(count_));
    const auto wanted = std::max<std::uint64_t>(static_cast<std::uint64_t>(share), 1);
    std::uint64_t seen = 0;
    for (std::size_t index = 0; index < buckets_.size(); ++index) {
      seen += buckets_[index];
      if (seen >= wanted) return to_duration(std::min(middle_of(index), largest_));
    }
    return max();
  }

 private:
  static constexpr unsigned part_bits = 7;
  static constexpr std::uint64_t parts = std::uint64_t{1} << part_bits;

  /// Values below `parts` are their own index. Above, the index is the value's leading `part_bits` + 1
  /// bits (which include the leading one) plus `parts` for each bit that was shifted away.
  static constexpr std::size_t index_of(std::uint64_t value) noexcept {
    if (value < parts) return static_cast<std::size_t>(value);
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - (part_bits + 1);
    return static_cast<std::size_t>((value >> shift) + shift * parts);
  }

  static constexpr std::uint64_t middle_of(std::size_t index) noexcept {
    if (index < 2 * parts) return index;
    const auto shift = static_cast<unsigned>(index / parts) - 1;
    const auto lowest = (index - shift * parts) << shift;
    return lowest + (std::uint64_t{1} << shift) / 2;
  }

  static constexpr std::chrono::nanoseconds to_duration(std::uint64_t value) noexcept {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(value)};
  }

  std::vector<std::uint64_t> buckets_ = std::vector<std::uint64_t>(index_of(UINT64_MAX >> 1) + 1);
  std::uint64_t count_ = 0;
  std::uint64_t largest_ = 0;
};

}  // namespace brio::loadgen
