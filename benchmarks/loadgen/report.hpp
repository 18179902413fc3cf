// The results as JSON: one object a run, one a stream within it.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "connection.hpp"
#include "statistics.hpp"

namespace brio::loadgen {

namespace detail {

inline double milliseconds(std::chrono::nanoseconds duration) noexcept {
  return std::chrono::duration<double, std::milli>(duration).count();
}

inline void write_times(std::ostream& out, std::string_view name, const histogram& times) {
  out << "      \"" << name << "\": {\"p50\": " << milliseconds(times.percentile(50))
      << ", \"p90\": " << milliseconds(times.percentile(90))
      << ", \"p99\": " << milliseconds(times.percentile(99))
      << ", \"p99.9\": " << milliseconds(times.percentile(99.9))
      << ", \"max\": " << milliseconds(times.max()) << "}";
}

inline void write_errors(std::ostream& out, const statistics& measured) {
  out << "      \"errors\": {\"total\": " << measured.errors();
  for (const auto kind : {outcome::connect, outcome::broken, outcome::status, outcome::unfinished})
    out << ", \"" << outcome_names[static_cast<std::size_t>(kind)] << "\": " << measured.of(kind);
  out << "},\n";
}

inline void write_bodies(std::ostream& out, const stream& measured) {
  out << ",\n      \"bodies\": [";
  const char* separator = "";
  for (const auto& body :
       measured.bodies.write(measured.options().bodies, measured.options().name)) {
    out << separator << "{\"file\": \"" << body.file << "\", \"bytes\": " << body.bytes
        << ", \"count\": " << body.count << "}";
    separator = ", ";
  }
  out << "],\n      \"bodies_not_kept\": " << measured.bodies.not_kept();
}

}  // namespace detail

/// Processor time this process has used so far, in seconds.
[[nodiscard]] inline double processor_seconds() noexcept {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// One stream as a JSON object. Requests are those that were answered whole; the rate is theirs, over
/// the time from the first measured start to the end of the run or of the last of them, which is later.
inline void write_stream(std::ostream& out, const stream& finished) {
  const auto& measured = finished.measured;
  const auto& run = finished.tickets.run();
  const auto complete = measured.of(outcome::complete);
  const std::chrono::duration<double> elapsed = std::max(run.end, measured.last_end) - run.measured;
  out << "    {\n      \"name\": \"" << finished.options().name << "\",\n"
      << "      \"loop\": \"" << (finished.options().pace.closed() ? "closed" : "open") << "\",\n"
      << "      \"connections\": " << finished.options().connections << ",\n"
      << "      \"requests\": " << complete << ",\n";
  detail::write_errors(out, measured);
  out << "      \"aborted\": " << measured.of(outcome::aborted) << ",\n"
      << "      \"bytes\": " << measured.received << ",\n"
      << "      \"body_bytes\": {\"min\": " << (complete == 0 ? 0 : measured.smallest_body)
      << ", \"max\": " << measured.largest_body << "},\n"
      << "      \"rate\": " << static_cast<double>(complete) / elapsed.count() << ",\n";
  detail::write_times(out, "latency_ms", measured.latency);
  out << ",\n";
  detail::write_times(out, "first_byte_ms", measured.first_byte);
  if (finished.options().first_content) {
    out << ",\n";
    detail::write_times(out, "first_content_ms", measured.first_content);
  }
  if (finished.keeps_bodies()) detail::write_bodies(out, finished);
  out << "\n    }";
}

}  // namespace brio::loadgen
