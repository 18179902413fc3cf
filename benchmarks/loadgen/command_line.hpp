// Arguments to options. `option_table` is the whole of the command line: parsing and --help both come
// from it. Every refusal names the option, the value and what is allowed.
#pragma once

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "options.hpp"

namespace brio::loadgen {

/// A refused command line; the text is for the user.
class usage_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace detail {

/// One value on the command line, which knows its option for the sake of the message.
class argument {
 public:
  argument(std::string_view option, std::string_view value) noexcept
      : option_(option), value_(value) {}

  [[nodiscard]] std::string_view text() const noexcept { return value_; }

  [[noreturn]] void refuse(std::string_view allowed) const {
    throw usage_error(std::string(option_) + ": \"" + std::string(value_) + "\" is not allowed; " +
                      std::string(allowed) + " is");
  }

  [[nodiscard]] double number(double least, double most, std::string_view allowed) const {
    double value = 0;
    const auto [end, error] = std::from_chars(value_.data(), value_.data() + value_.size(), value);
    const bool whole = error == std::errc{} && end == value_.data() + value_.size();
    if (!whole || !(value >= least && value <= most)) refuse(allowed);
    return value;
  }

  [[nodiscard]] std::uint64_t integer(std::uint64_t least, std::uint64_t most,
                                      std::string_view allowed) const {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(value_.data(), value_.data() + value_.size(), value);
    const bool whole = error == std::errc{} && end == value_.data() + value_.size();
    if (!whole || value < least || value > most) refuse(allowed);
    return value;
  }

  [[nodiscard]] unsigned count() const {
    return static_cast<unsigned>(integer(1, 10000, "a count from 1 to 10000"));
  }

  [[nodiscard]] std::chrono::nanoseconds milliseconds(std::string_view allowed) const {
    return std::chrono::nanoseconds{std::llround(number(0.01, 1e7, allowed) * 1e6)};
  }

  [[nodiscard]] std::chrono::nanoseconds seconds(double least) const {
    const auto value =
        number(least, 86400,
               least > 0 ? "a time from 0.001 to 86400 seconds" : "a time from 0 to 86400 seconds");
    return std::chrono::nanoseconds{std::llround(value * 1e9)};
  }

 private:
  std::string_view option_;
  std::string_view value_;
};

inline void set_url(stream_options& stream, const argument& value) {
  constexpr std::string_view scheme = "http://";
  constexpr std::string_view allowed = "http://ADDRESS:PORT/PATH with an IPv4 address";
  auto rest = value.text();
  if (!rest.starts_with(scheme)) value.refuse(allowed);
  rest.remove_prefix(scheme.size());
  const auto slash = rest.find('/');
  const auto colon = rest.find(':');
  if (slash == std::string_view::npos || colon > slash) value.refuse(allowed);
  const auto port_text = rest.substr(colon + 1, slash - colon - 1);
  std::uint16_t port = 0;
  const auto [end, error] =
      std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  if (error != std::errc{} || end != port_text.data() + port_text.size()) value.refuse(allowed);
  stream.address.sin_family = AF_INET;
  stream.address.sin_port = htons(port);
  const std::string address(rest.substr(0, colon));
  if (::inet_pton(AF_INET, address.c_str(), &stream.address.sin_addr) != 1) value.refuse(allowed);
  stream.host = rest.substr(0, slash);
  stream.path = rest.substr(slash);
  const bool printable = std::all_of(stream.path.begin(), stream.path.end(),
                                     [](char c) { return c > ' ' && c < 127; });
  if (!printable) value.refuse("a path of printable ASCII without spaces");
}

[[nodiscard]] inline backend backend_named(const argument& value) {
  if (value.text() == "epoll") return backend::epoll;
#ifdef BRIO_LOADGEN_URING
  if (value.text() == "io_uring") return backend::io_uring;
  value.refuse("epoll or io_uring");
#else
  value.refuse("epoll (this build has no liburing)");
#endif
}

[[nodiscard]] inline outcome end_named(const argument& value) {
  if (value.text() == "unfinished") return outcome::unfinished;
  if (value.text() == "aborted") return outcome::aborted;
  value.refuse("unfinished or aborted");
}

/// A stream as it was written: its pacing is settled once all of it is known.
struct stream_draft {
  stream_options options;
  std::optional<std::chrono::nanoseconds> interval;
  std::optional<unsigned> burst;
  std::optional<std::chrono::nanoseconds> period;
  std::optional<unsigned> closed;
  std::optional<std::chrono::nanoseconds> spread;
  std::optional<unsigned> connections;
};

struct run_draft {
  run_options options;
  std::vector<stream_draft> streams;
};

/// One line of the command line. Options that fill a stream apply to the last one named before them.
struct option {
  std::string_view name;
  std::string_view value;
  std::string_view help;
  void (*set_run)(run_draft&, const argument&);
  void (*set_stream)(stream_draft&, const argument&);
};

inline constexpr std::array option_table{
    option{
        "--duration", "SECONDS", "time in which requests start and are measured (10)",
        [](run_draft& run, const argument& value) { run.options.duration = value.seconds(0.001); },
        nullptr},
    option{"--warmup", "SECONDS", "time before that, at the same pace, not measured (1)",
           [](run_draft& run, const argument& value) { run.options.warmup = value.seconds(0); },
           nullptr},
    option{"--grace", "SECONDS", "time after that for what is still open (10)",
           [](run_draft& run, const argument& value) { run.options.grace = value.seconds(0); },
           nullptr},
    option{"--at-end", "NAME",
           "what becomes of the rest: unfinished, an error, or aborted, reset (unfinished)",
           [](run_draft& run, const argument& value) { run.options.at_end = end_named(value); },
           nullptr},
    option{"--backend", "NAME", "epoll or io_uring (epoll)",
           [](run_draft& run, const argument& value) { run.options.loop = backend_named(value); },
           nullptr},
    option{"--stream", "NAME",
           "begins a stream; the options below belong to the stream before them",
           [](run_draft& run, const argument& value) {
             const auto name = value.text();
             const auto letter = [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '_' || c == '-';
             };
             if (name.empty() || !std::all_of(name.begin(), name.end(), letter))
               value.refuse("a name of letters, digits, _ and -");
             for (const auto& stream : run.streams)
               if (stream.options.name == name) value.refuse("a name of its own for each stream");
             run.streams.emplace_back().options.name = name;
           },
           nullptr},
    option{"--url", "URL", "http://ADDRESS:PORT/PATH, an IPv4 address", nullptr,
           [](stream_draft& stream, const argument& value) { set_url(stream.options, value); }},
    option{"--rate", "N", "open loop: N requests a second, evenly spaced", nullptr,
           [](stream_draft& stream, const argument& value) {
             const auto rate = value.number(0.001, 1e6, "a number from 0.001 to 1000000");
             stream.interval = std::chrono::nanoseconds{std::llround(1e9 / rate)};
           }},
    option{"--burst", "N", "open loop: N requests together each --period", nullptr,
           [](stream_draft& stream, const argument& value) { stream.burst = value.count(); }},
    option{"--period", "MS", "milliseconds from one burst to the next", nullptr,
           [](stream_draft& stream, const argument& value) {
             stream.period = value.milliseconds("a number from 0.01 to 10000000");
           }},
    option{"--closed", "N", "closed loop: N connections, each asks again when it was answered",
           nullptr,
           [](stream_draft& stream, const argument& value) { stream.closed = value.count(); }},
    option{"--spread", "MS",
           "starts a burst, or a closed loop's connections, evenly over so many milliseconds",
           nullptr,
           [](stream_draft& stream, const argument& value) {
             stream.spread = value.milliseconds("a number from 0.01 to 10000000");
           }},
    option{"--connections", "N",
           "open loop: the most requests open at once (64, or twice the burst)", nullptr,
           [](stream_draft& stream, const argument& value) { stream.connections = value.count(); }},
    option{"--header", "'NAME: VALUE'", "sends a header; may be repeated", nullptr,
           [](stream_draft& stream, const argument& value) {
             const auto colon = value.text().find(':');
             const auto printable = [](char c) { return (c >= ' ' && c < 127) || c == '\t'; };
             if (colon == std::string_view::npos || colon == 0 ||
                 !std::all_of(value.text().begin(), value.text().end(), printable))
               value.refuse("NAME: VALUE in printable ASCII");
             stream.options.headers.emplace_back(value.text());
           }},
    option{"--bodies", "FOLDER", "saves each distinct body there as NAME-N.body, at most 64",
           nullptr,
           [](stream_draft& stream, const argument& value) {
             if (value.text().empty()) value.refuse("a folder");
             stream.options.bodies = value.text();
           }},
    option{
        "--abort-after", "BYTES", "resets each connection after so many bytes of response", nullptr,
        [](stream_draft& stream, const argument& value) {
          stream.options.abort_after = value.integer(0, UINT32_MAX, "a count from 0 to 4294967295");
        }},
    option{"--first-content", "BYTES",
           "also measures when so many bytes of content had come, br and gzip being decoded",
           nullptr,
           [](stream_draft& stream, const argument& value) {
             stream.options.first_content =
                 value.integer(1, UINT32_MAX, "a count from 1 to 4294967295");
           }},
    option{"--read-rate", "BYTES",
           "reads only so many bytes a second, through a small receive buffer", nullptr,
           [](stream_draft& stream, const argument& value) {
             stream.options.read_rate =
                 value.integer(1, UINT32_MAX, "a count from 1 to 4294967295");
           }},
};

/// Settles the pacing: exactly one of rate, burst (with its period) and closed loop.
inline stream_options settled(stream_draft draft) {
  auto stream = std::move(draft.options);
  const auto refuse = [&stream](const char* what) {
    throw usage_error("stream " + stream.name + " " + what);
  };
  if (stream.host.empty()) refuse("has no --url");
  if (draft.interval.has_value() + draft.burst.has_value() + draft.closed.has_value() != 1)
    refuse("needs exactly one of --rate, --burst and --closed");
  if (draft.burst.has_value() != draft.period.has_value())
    refuse("needs --burst and --period together");
  if (draft.closed && draft.connections)
    refuse("takes its connections from --closed, not from --connections");

  if (draft.interval && draft.spread)
    refuse("takes --spread with --burst or --closed: a --rate is spread as it is");

  const unsigned burst = draft.burst.value_or(draft.closed.value_or(1));
  stream.pace = {burst, draft.interval.value_or(draft.period.value_or(std::chrono::nanoseconds{0})),
                 draft.spread.value_or(std::chrono::nanoseconds{0})};
  stream.connections =
      draft.closed ? *draft.closed : draft.connections.value_or(draft.burst ? 2 * burst : 64);
  return stream;
}

}  // namespace detail

/// Throws `usage_error`.
[[nodiscard]] inline run_options parse(std::span<const char* const> arguments) {
  detail::run_draft run;
  for (std::size_t at = 0; at < arguments.size(); at += 2) {
    const std::string_view name = arguments[at];
    const auto* const known =
        std::find_if(detail::option_table.begin(), detail::option_table.end(),
                     [name](const detail::option& entry) { return entry.name == name; });
    if (known == detail::option_table.end())
      throw usage_error("\"" + std::string(name) + "\" is not an option; --help lists them");
    if (at + 1 == arguments.size())
      throw usage_error(std::string(name) + " needs a value: " + std::string(known->value));
    const detail::argument value(name, arguments[at + 1]);
    if (known->set_run != nullptr) {
      known->set_run(run, value);
    } else {
      if (run.streams.empty())
        throw usage_error(std::string(name) + " belongs to a stream: begin one with --stream NAME");
      known->set_stream(run.streams.back(), value);
    }
  }
  if (run.streams.empty()) throw usage_error("no stream: begin one with --stream NAME");
  for (auto& stream : run.streams)
    run.options.streams.push_back(detail::settled(std::move(stream)));
  return std::move(run.options);
}

[[nodiscard]] inline std::string help() {
  std::string text =
      "usage: brio-loadgen [options] --stream NAME --url URL (--rate N | --burst N --period MS | "
      "--closed N) ...\n\n"
      "Sends HTTP/1.1 requests over keep-alive connections and prints what it measured as JSON.\n"
      "Open-loop latency counts from the time a request was meant to start.\n\n";
  for (const auto& entry : detail::option_table) {
    auto left = "  " + std::string(entry.name) + " " + std::string(entry.value);
    left.resize(std::max<std::size_t>(left.size() + 2, 26), ' ');
    text += left + std::string(entry.help) + "\n";
  }
  return text;
}

}  // namespace brio::loadgen
