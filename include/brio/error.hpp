// What can go wrong with a response. Errors are values: the first one of a response wins, what still
// runs drains and joins, and nothing in the engine throws.
#pragma once

#include <string_view>

namespace brio {

enum class error {
  none,
  out_of_memory,   ///< an allocation failed, on the loop or in a step
  over_limit,      ///< the engine's memory limit leaves no room for another response
  encoder_failed,  ///< the encoder refused its parameters or its input
  cancelled,       ///< the host gave the response up
};

/// A sentence fragment for a log line, in lower case and without a full stop.
[[nodiscard]] constexpr std::string_view message(error e) noexcept {
  switch (e) {
    case error::none:
      return "no error";
    case error::out_of_memory:
      return "out of memory";
    case error::over_limit:
      return "the memory limit is reached";
    case error::encoder_failed:
      return "the encoder failed";
    case error::cancelled:
      return "cancelled";
  }
  return "unknown error";
}

}  // namespace brio
