// Comparing two ways of doing something on a machine that is busy with other things too.
//
// The two run in turn, many times, and what is reported is the median of the ratios of neighbours: what
// slows the machine for a while slows both. A time on its own is for the reader, never for a gate.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <string>
#include <vector>

namespace brio::micro {

/// Time per operation of ours and of what it is compared with, and ours / reference.
struct comparison {
  std::string name;
  double nanoseconds = 0;
  double reference = 0;
  double ratio = 0;
};

[[nodiscard]] inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <std::invocable Work>
[[nodiscard]] double nanoseconds_of(Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

/// Runs `ours` and `reference` `rounds` times each after one round for warmth; each call does
/// `operations` of what is named.
template <std::invocable Ours, std::invocable Reference>
[[nodiscard]] comparison compare(std::string name, std::size_t rounds, std::size_t operations,
                                 Ours ours, Reference reference) {
  std::vector<double> ours_took;
  std::vector<double> reference_took;
  std::vector<double> ratios;
  ours();
  reference();
  for (std::size_t round = 0; round < rounds; ++round) {
    ours_took.push_back(nanoseconds_of(ours) / static_cast<double>(operations));
    reference_took.push_back(nanoseconds_of(reference) / static_cast<double>(operations));
    ratios.push_back(ours_took.back() / reference_took.back());
  }
  return {std::move(name), median(ours_took), median(reference_took), median(ratios)};
}

}  // namespace brio::micro
