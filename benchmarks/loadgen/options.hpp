// What a run is: its length and its streams. Values only; command_line.hpp makes them from arguments.
#pragma once

#include <netinet/in.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "schedule.hpp"
#include "statistics.hpp"

namespace brio::loadgen {

/// Requests of one kind: one URL, one set of headers, one pacing, and their own connections.
struct stream_options {
  std::string name;
  sockaddr_in address{};
  std::string host;
  std::string path;
  std::vector<std::string> headers;
  pacing pace;
  unsigned connections = 0;
  std::filesystem::path bodies;            ///< empty: bodies are counted and forgotten
  std::optional<std::size_t> abort_after;  ///< reset the connection after so many response bytes
  std::optional<std::size_t> read_rate;    ///< bytes per second a slow reader takes
  std::optional<std::uint64_t> first_content;  ///< when so many decoded bytes had come is measured
};

/// What the event loop is made of.
enum class backend { epoll, io_uring };

struct run_options {
  std::chrono::nanoseconds duration = std::chrono::seconds{10};
  std::chrono::nanoseconds warmup = std::chrono::seconds{1};
  std::chrono::nanoseconds grace = std::chrono::seconds{10};
  outcome at_end = outcome::unfinished;  ///< what is still open after all that; or `aborted`
  backend loop = backend::epoll;
  std::vector<stream_options> streams;
};

}  // namespace brio::loadgen
