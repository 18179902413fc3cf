// Bytes to compress and to compare.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "dice.hpp"

namespace brio::test {

using bytes = std::vector<std::byte>;

/// `size` bytes that look like markup: words of a small vocabulary, numbers, some noise.
inline bytes text(std::size_t size, std::uint64_t seed) {
  constexpr std::array<std::string_view, 12> words{
      "<div class=\"", "</div>\n", "function ", "return ", "\"name\": ", "null, ",
      "event",         "brotli",   " the ",     "loop",    "=> {",       "0.5, "};
  dice choose(seed);
  bytes made;
  made.reserve(size + 16);
  while (made.size() < size) {
    if (choose.one_in(4)) {
      for (int i = 0; i < 3; ++i) made.push_back(static_cast<std::byte>(choose.below(256)));
      continue;
    }
    for (const char c : words[choose.below(words.size())]) made.push_back(std::byte(c));
  }
  made.resize(size);
  return made;
}

/// `size` bytes that do not compress.
inline bytes noise(std::size_t size, std::uint64_t seed) {
  dice choose(seed);
  bytes made(size);
  for (std::byte& b : made) b = static_cast<std::byte>(choose.below(256));
  return made;
}

}  // namespace brio::test
