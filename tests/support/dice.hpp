// Random numbers that repeat: the same seed gives the same test on every machine, which the
// distributions of the standard library do not promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace brio::test {

class dice {
 public:
  explicit dice(std::uint64_t seed) : engine_(seed) {}

  /// 0 to n - 1; n from 1.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  /// low to high, both included.
  std::size_t between(std::size_t low, std::size_t high) { return low + below(high - low + 1); }
  /// True once in n times.
  bool one_in(std::size_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace brio::test
