// What one stream has measured so far. Plain counters of one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "histogram.hpp"
#include "schedule.hpp"

namespace brio::loadgen {

/// How a request ended. All but `complete` and `aborted` are errors.
enum class outcome : std::uint8_t {
  complete,    ///< a whole response with a status from 200 to 399
  aborted,     ///< reset by us, as the options asked
  connect,     ///< no connection
  broken,      ///< the connection ended early, or what came is not HTTP/1.1 or not its coding
  status,      ///< a whole response with a status of 400 or more
  unfinished,  ///< still open, or not even sent, when the time after the end was over
};

inline constexpr std::array<std::string_view, 6> outcome_names{"complete", "aborted", "connect",
                                                               "broken",   "status",  "unfinished"};

struct statistics {
  std::array<std::uint64_t, outcome_names.size()> outcomes{};
  histogram latency;           ///< intended start to last byte, complete responses
  histogram first_byte;        ///< intended start to first byte, complete responses
  histogram first_content;     ///< intended start to so much decoded content as the options name
  std::uint64_t received = 0;  ///< bytes of complete responses, headers and framing included
  std::uint64_t smallest_body = UINT64_MAX;
  std::uint64_t largest_body = 0;
  clock::time_point last_end{};

  [[nodiscard]] std::uint64_t of(outcome kind) const noexcept {
    return outcomes[static_cast<std::size_t>(kind)];
  }

  void count(outcome kind, std::uint64_t times = 1) noexcept {
    outcomes[static_cast<std::size_t>(kind)] += times;
  }

  void count_body(std::uint64_t bytes) noexcept {
    smallest_body = std::min(smallest_body, bytes);
    largest_body = std::max(largest_body, bytes);
  }

  [[nodiscard]] std::uint64_t errors() const noexcept {
    return of(outcome::connect) + of(outcome::broken) + of(outcome::status) +
           of(outcome::unfinished);
  }
};

}  // namespace brio::loadgen
