// A worker's life in virtual time: a thousand responses arrive, upstreams and clients stall, clients
// leave, executors refuse, encoders and allocations fail, memory is short. What must hold does so
// after every event.
#include <brio/response.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include <brio/async/inline_executor.hpp>
#include <brio/engine.hpp>
#include <brio/faults.hpp>

#include "bytes.hpp"
#include "catch.hpp"
#include "dice.hpp"
#include "host.hpp"
#include "manual_executor.hpp"
#include "play.hpp"
#include "store_decoder.hpp"
#include "store_encoder.hpp"

namespace {

using brio::engine;
using brio::error;
using brio::fault_plan;
using brio::fault_trigger;
using brio::response_options;
using brio::test::bytes;
using brio::test::dice;
using brio::test::habits;
using brio::test::host;
using brio::test::manual_executor;
using brio::test::store_decoder;
using brio::test::store_encoder;

constexpr std::size_t step = 64;
constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;

struct peers final : brio::peer_load {
  unsigned here = 0;
  unsigned elsewhere = 0;
  void publish(unsigned running) noexcept override { here = running; }
  [[nodiscard]] unsigned others() const noexcept override { return elsewhere; }
};

struct setting {
  unsigned slots = 1;
  std::size_t memory_limit = 0;
  std::size_t pause = 0;   ///< most events between two arrivals
  bool has_peers = false;  ///< other event loops on the same CPUs
};

/// What became of the responses.
struct totals {
  std::size_t whole = 0;
  std::size_t refused = 0;
  std::size_t failed = 0;
  std::size_t left = 0;
  std::size_t settled = 0;  ///< times when nothing was left to do but to wait
};

/// A response with its client and its upstream.
struct connection {
  response_options<store_encoder> options;
  bytes body;
  fault_plan faults;
  bool fails = false;     ///< one of its steps
  bool runs_out = false;  ///< one of its allocations fails
  habits manner;
  std::unique_ptr<host<store_encoder>> server;
  bool gone = false;
};

class simulation {
 public:
  simulation(std::uint64_t seed, const setting& given, std::size_t responses)
      : choose_(seed),
        given_(given),
        shared_({.slots = given.slots,
                 .memory_limit = given.memory_limit,
                 .peers = given.has_peers ? &peers_ : nullptr}),
        connections_(responses) {}

  totals run() {
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      at += choose_.below(given_.pause);
      timetable_.push({at, i, event::arrival});
    }
    for (;;) {
      while (!timetable_.empty() && timetable_.top().at <= now_) outside_event();
      if (choose_.one_in(300)) settle();
      if (act()) continue;
      require_nobody_stuck();
      if (timetable_.empty()) break;
      now_ = timetable_.top().at;
    }
    REQUIRE(live_.empty());
    REQUIRE(brio::test::at_rest(shared_));
    REQUIRE(peers_.here == 0);
    shared_.trim();
    REQUIRE(shared_.memory() == 0);
    return totals_;
  }

  [[nodiscard]] const engine& shared() const { return shared_; }

 private:
  struct event {
    enum what { arrival, input, read, leave };
    std::uint64_t at;
    std::size_t who;
    what kind;
    bool operator>(const event& other) const { return at > other.at; }
  };

  void outside_event() {
    const event e = timetable_.top();
    timetable_.pop();
    if (e.kind == event::arrival) return arrive(e.who);
    connection& c = connections_[e.who];
    if (!c.server) return;
    switch (e.kind) {
      case event::input:
        c.server->arrive(choose_.between(1, 4 * step));
        if (c.server->left() > 0) timetable_.push({later(200), e.who, event::input});
        break;
      case event::read:
        if (c.server->kept() > 0) c.server->send();
        timetable_.push({later(60), e.who, event::read});
        break;
      default:
        leave(c);
    }
    after_event();
  }

  void arrive(std::size_t who) {
    connection& c = connections_[who];
    c.body = brio::test::text(choose_.below(std::size_t{1} << choose_.between(1, 13)), who);
    c.options = any_options(c.body.size());
    if (choose_.one_in(12)) c.faults.refuse.set(any_trigger());
    c.fails = choose_.one_in(12);
    if (c.fails) c.faults.fail.set(any_trigger());
    c.runs_out = choose_.one_in(12);
    if (c.runs_out) c.faults.allocate.set(static_cast<long>(choose_.between(1, 40)));
    c.options.faults = brio::fault_link(c.faults);
    if (choose_.one_in(40)) executor_.refuse_next(choose_.between(1, 5));
    if (choose_.one_in(10)) peers_.elsewhere = static_cast<unsigned>(choose_.below(4));

    c.manner = any_habits(c.body.size());
    const bool alone = shared_.memory_budget.reserved() == 0;
    const brio::executor_ref executor =
        choose_.one_in(10) ? brio::executor_ref(direct_) : brio::executor_ref(executor_);
    c.server =
        std::make_unique<host<store_encoder>>(shared_, executor, c.body, c.options, c.manner);
    if (!c.server->body()) {
      REQUIRE((c.server->failure() == error::over_limit || allocation_failed(c)));
      REQUIRE((!alone || allocation_failed(c)));
      c.server.reset();
      ++totals_.refused;
      return after_event();
    }
    live_.push_back(who);
    if (c.server->left() > c.manner.arrived) timetable_.push({later(200), who, event::input});
    if (c.manner.keeps_chunks) timetable_.push({later(60), who, event::read});
    if (choose_.one_in(6)) timetable_.push({later(400), who, event::leave});
    after_event();
  }

  response_options<store_encoder> any_options(std::size_t size) {
    constexpr std::array<std::uint64_t, 4> costs{0, 1, brio::brief_work / step,
                                                 brio::dear_work / step + 1};
    response_options<store_encoder> o;
    o.encoding = {.step = step,
                  .copies = choose_.one_in(3) ? copies : 1,
                  .cost = costs[choose_.below(costs.size())],
                  .memory = choose_.between(1, largest_encoder),
                  .shape = static_cast<unsigned>(choose_.below(3))};
    if (choose_.one_in(2)) o.length = choose_.one_in(10) ? choose_.below(2 * size + 1) : size;
    o.cuts = {static_cast<unsigned>(choose_.between(1, 4)), choose_.between(step, 20 * step),
              choose_.one_in(4)};
    o.output_limit = choose_.between(1, 100 * kib);
    return o;
  }

  habits any_habits(std::size_t size) {
    habits h{.write_size = choose_.between(10, 1000),
             .waits_for_flush = choose_.one_in(2),
             .keeps_chunks = choose_.one_in(2)};
    for (std::size_t i = choose_.below(4); i > 0; --i)
      h.flush_at.push_back(choose_.below(size + 1));
    std::ranges::sort(h.flush_at);
    if (choose_.one_in(2)) h.arrived = choose_.below(size + 1);
    return h;
  }

  long any_trigger() {
    return choose_.one_in(8) ? fault_trigger::always : static_cast<long>(choose_.between(1, 10));
  }

  /// The client is gone: the host drops the response, or first gives it up; chunks go before or after.
  void leave(connection& c) {
    if (c.server->over()) return;  // sent in full already, or about to be looked at
    c.gone = true;
    if (choose_.one_in(2)) c.server->send_all();
    if (choose_.one_in(2)) {
      c.server->body().cancel();
      REQUIRE_FALSE(c.server->body().take());
    } else {
      c.server->drop();
    }
  }

  /// One thing that the worker or a thread of the pool could do now; false when there is none.
  bool act() {
    std::vector<std::size_t> ready;
    for (const std::size_t who : live_) {
      if (connections_[who].server->ready()) ready.push_back(who);
    }
    const std::size_t jobs = executor_.pending() + executor_.done();
    if (ready.empty() && jobs == 0) return false;
    const std::size_t n = choose_.below(ready.size() + jobs);
    if (n < ready.size()) {
      connections_[ready[n]].server->step();
    } else {
      executor_.anything(choose_);
    }
    ++now_;
    REQUIRE(now_ < 10'000'000);
    after_event();
    return true;
  }

  /// Clients and upstreams stand still until all that can be done has been.
  void settle() {
    while (act()) {
    }
    require_nobody_stuck();
  }

  void after_event() {
    REQUIRE(shared_.jobs.running() <= given_.slots);
    if (given_.has_peers) REQUIRE(shared_.jobs.running() == peers_.here);
    REQUIRE(executor_.pending() + executor_.done() <= given_.slots);
    // Encoders are let in only where there is room.
    if (shared_.memory_budget.claimed() > claimed_) REQUIRE(within_memory());
    std::erase_if(live_, [this](std::size_t who) { return ended(connections_[who]); });
    claimed_ = shared_.memory_budget.claimed();
  }

  /// Within the limit, but for the one response and the one encoder that are let through whatever it
  /// is. No two encoders here take the same.
  [[nodiscard]] bool within_memory() const {
    const brio::budget& memory = shared_.memory_budget;
    if (memory.reserved() + memory.claimed() <= given_.memory_limit) return true;
    if (memory.reserved() > std::max(given_.memory_limit, largest_reservation)) return false;
    return memory.claimed() == 0 ||
           std::ranges::any_of(connections_, [&memory](const connection& c) {
             return c.options.encoding.memory == memory.claimed();
           });
  }

  bool ended(connection& c) {
    if (!c.server->over() || c.server->kept() > 0) return false;
    judge(c);
    c.server.reset();
    return true;
  }

  /// Whole, or visibly broken for a reason that there is; and flushes did what they are for.
  void judge(connection& c) {
    store_decoder decoder(c.options.encoding.copies);
    const std::span<const std::byte> sent(c.server->output());
    std::size_t fed = 0;
    const std::vector<std::size_t>& marks = c.server->flush_marks();
    REQUIRE(marks.size() <= c.manner.flush_at.size());
    for (std::size_t i = 0; i < marks.size(); ++i) {
      decoder.feed(sent.subspan(fed, marks[i] - fed));
      fed = marks[i];
      if (c.manner.waits_for_flush) REQUIRE(decoder.output().size() == c.manner.flush_at[i]);
    }
    decoder.feed(sent.subspan(fed));
    REQUIRE_FALSE(decoder.corrupt());
    REQUIRE(c.server->wakes_inside_calls() == 0);
    const bytes& output = decoder.output();
    REQUIRE(output.size() <= c.body.size());
    REQUIRE(std::ranges::equal(output, std::span(c.body).first(output.size())));
    REQUIRE(decoder.ended() == c.server->complete());
    if (c.server->complete()) {
      REQUIRE(output.size() == c.body.size());
      REQUIRE_FALSE(step_failed(c));
      REQUIRE_FALSE(allocation_failed(c));
      ++totals_.whole;
    } else if (c.gone) {
      ++totals_.left;
    } else {
      const error why = c.server->failure();
      REQUIRE((why == error::encoder_failed || why == error::out_of_memory));
      REQUIRE((why != error::encoder_failed || step_failed(c)));
      REQUIRE((why != error::out_of_memory || allocation_failed(c)));
      ++totals_.failed;
    }
  }

  /// With nothing left to do for the worker and its threads, whoever is not served yet waits for his
  /// own client or upstream, and encoders asked back are gone.
  void require_nobody_stuck() {
    REQUIRE(shared_.jobs.running() == 0);
    REQUIRE(shared_.jobs.waiting() == 0);
    REQUIRE(within_memory());
    for (const std::size_t who : live_) {
      const host<store_encoder>& server = *connections_[who].server;
      CAPTURE(who);
      REQUIRE((server.over() || server.kept() > 0 || server.waits_for_upstream()));
    }
    ++totals_.settled;
  }

  static bool step_failed(const connection& c) { return c.fails && !c.faults.fail.waiting(); }
  static bool allocation_failed(const connection& c) {
    return c.runs_out && !c.faults.allocate.waiting();
  }

  [[nodiscard]] std::uint64_t later(std::size_t most) { return now_ + choose_.between(1, most); }

  static constexpr unsigned copies = 600;
  static constexpr std::size_t largest_encoder = mib;
  static constexpr std::size_t largest_reservation = 128 * kib + step;

  dice choose_;
  const setting given_;
  peers peers_;
  engine shared_;
  brio::inline_executor direct_;
  manual_executor executor_;
  std::uint64_t now_ = 0;
  std::size_t claimed_ = 0;
  std::priority_queue<event, std::vector<event>, std::greater<>> timetable_;
  std::vector<std::size_t> live_;
  totals totals_;
  std::vector<connection> connections_;
};

}  // namespace

TEST_CASE("a thousand responses through everything that can happen to them", "[property]") {
  totals all;
  std::size_t asked_back = 0;
  std::size_t refusals = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    dice choose(seed);
    const setting given{.slots = static_cast<unsigned>(seed % 4 + 1),
                        .memory_limit = choose.one_in(6) ? 1 : choose.between(mib, 12 * mib),
                        .pause = choose.between(1, 200),
                        .has_peers = choose.one_in(2)};
    CAPTURE(seed, given.slots, given.memory_limit, given.pause, given.has_peers);
    simulation world(seed, given, 1000);
    const totals t = world.run();
    REQUIRE(t.whole + t.refused + t.failed + t.left == 1000);
    all.whole += t.whole;
    all.refused += t.refused;
    all.failed += t.failed;
    all.left += t.left;
    all.settled += t.settled;
    asked_back += world.shared().memory_budget.asked_back();
    refusals += static_cast<std::size_t>(world.shared().counters.refusals);
  }
  // None of it may have become rare.
  CHECK(all.whole > 2000);
  CHECK(all.refused > 300);
  CHECK(all.failed > 200);
  CHECK(all.left > 150);
  CHECK(all.settled > 4000);
  CHECK(asked_back > 300);
  CHECK(refusals > 300);
}
