// When a stream's requests are meant to start: arithmetic only, no clock and no sockets.
//
// Open loop: ticket k is meant to start at a time fixed beforehand, whatever became of the tickets
// before it. Idle connections hold the next tickets in order; a ticket that finds no idle connection
// is taken late, and its latency still counts from the intended start. So a server that stalls is
// charged with every request that should have come meanwhile (the correction of what is known as
// coordinated omission). `burst` tickets share one start, or are spread evenly from there; a burst of
// one is a constant rate.
//
// Closed loop: a ticket is meant to start when a connection asks for it. Only the first `burst`, one
// for each connection, may be spread, so that the connections run out of phase.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace brio::loadgen {

using clock = std::chrono::steady_clock;

/// How the starts of a stream are spaced. A zero `period` is the closed loop; a zero `spread` puts the
/// starts of one burst in phase.
struct pacing {
  unsigned burst = 1;
  std::chrono::nanoseconds period{0};
  std::chrono::nanoseconds spread{0};

  [[nodiscard]] bool closed() const noexcept { return period.count() == 0; }
};

/// The time of a run: tickets start in [begin, end), those from `measured` on are recorded.
struct span_of_run {
  clock::time_point begin;
  clock::time_point measured;
  clock::time_point end;
};

struct ticket {
  clock::time_point intended;
  bool measured = false;
};

class schedule {
 public:
  schedule(pacing pace, span_of_run run) noexcept : pace_(pace), run_(run) {}

  /// The next ticket, or nothing when the run is over. `now` matters to the closed loop alone.
  [[nodiscard]] std::optional<ticket> next(clock::time_point now) noexcept {
    const auto intended =
        pace_.closed() ? std::max(now, first_start_of(issued_)) : start_of(issued_);
    if (stopped_ || intended >= run_.end) return std::nullopt;
    ++issued_;
    return ticket{intended, intended >= run_.measured};
  }

  /// Ends the run early. The answer is the number of tickets to be measured that were due and that no
  /// connection was free to take: requests the server never got to see.
  [[nodiscard]] std::uint64_t stop() noexcept {
    std::uint64_t untaken = 0;
    while (!pace_.closed()) {
      const auto left = next(run_.end);
      if (!left) break;
      untaken += left->measured ? 1 : 0;
    }
    stopped_ = true;
    return untaken;
  }

  [[nodiscard]] const span_of_run& run() const noexcept { return run_; }

 private:
  [[nodiscard]] clock::time_point start_of(std::uint64_t index) const noexcept {
    return run_.begin + pace_.period * static_cast<std::int64_t>(index / pace_.burst) +
           offset_of(index % pace_.burst);
  }

  [[nodiscard]] clock::time_point first_start_of(std::uint64_t index) const noexcept {
    return index < pace_.burst ? run_.begin + offset_of(index) : run_.begin;
  }

  [[nodiscard]] std::chrono::nanoseconds offset_of(std::uint64_t place) const noexcept {
    return pace_.spread * static_cast<std::int64_t>(place) / pace_.burst;
  }

  pacing pace_;
  span_of_run run_;
  std::uint64_t issued_ = 0;
  bool stopped_ = false;
};

}  // namespace brio::loadgen
