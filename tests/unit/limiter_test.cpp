#include <brio/limiter.hpp>

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <brio/async/run_queue.hpp>
#include <brio/async/task.hpp>

#include "catch.hpp"
#include "dice.hpp"

namespace {

using brio::limiter;
using brio::permit;
using brio::rank;
using brio::task;

/// Somebody who wants a slot and keeps it until told otherwise.
struct client {
  int name = 0;
  permit slot;
  task<> waiting;
};

task<> ask(limiter* jobs, rank urgency, client* who, std::vector<int>* order) {
  co_await jobs->admit(who->slot, {urgency});
  order->push_back(who->name);
}

/// The slot lives in the coroutine, as a segment's does.
task<> ask_and_hold(limiter* jobs, rank urgency, bool* admitted) {
  permit slot;
  co_await jobs->admit(slot, {urgency});
  *admitted = true;
  co_await std::suspend_always{};
}

struct scene {
  explicit scene(unsigned slots) : jobs(queue, slots) {}

  client& enter(int name, rank urgency) {
    clients.push_back(std::make_unique<client>());
    client& made = *clients.back();
    made.name = name;
    again(made, urgency);
    return made;
  }
  /// Asks once more, with whatever slot the client holds.
  void again(client& who, rank urgency) {
    who.waiting = ask(&jobs, urgency, &who, &order);
    who.waiting.start();
    queue.run();
  }
  void leave(client& who) {
    who.slot.release();
    queue.run();
  }

  brio::run_queue queue;
  limiter jobs;
  std::vector<int> order;
  std::deque<std::unique_ptr<client>> clients;  // last: they die before `jobs`
};

}  // namespace

TEST_CASE("no more than the slots are given out, and the next goes to who waits", "[limiter]") {
  scene s(2);
  client& one = s.enter(1, rank::fresh);
  s.enter(2, rank::fresh);
  client& three = s.enter(3, rank::fresh);
  CHECK(s.order == std::vector{1, 2});
  CHECK(s.jobs.running() == 2);
  CHECK(s.jobs.waiting() == 1);
  CHECK_FALSE(three.slot);
  s.leave(one);
  CHECK(s.order == std::vector{1, 2, 3});
  CHECK(s.jobs.running() == 2);
  CHECK(s.jobs.waiting() == 0);
  CHECK(three.slot);
}

TEST_CASE("a limiter has at least one slot", "[limiter]") {
  scene s(0);
  CHECK(s.jobs.slots() == 1);
  s.enter(1, rank::fresh);
  CHECK(s.order == std::vector{1});
}

TEST_CASE("brief work goes first, then what has begun, then what is fresh", "[limiter]") {
  scene s(1);
  client& busy = s.enter(0, rank::fresh);
  s.enter(31, rank::fresh);
  s.enter(21, rank::begun);
  s.enter(11, rank::brief);
  s.enter(32, rank::fresh);
  s.enter(22, rank::begun);
  s.enter(12, rank::brief);
  s.leave(busy);
  for (const int expected : {11, 12, 21, 22, 31, 32}) {
    CHECK(s.order.back() == expected);
    for (const auto& c : s.clients) {
      if (c->name == expected) s.leave(*c);
    }
  }
  CHECK(s.order == std::vector{0, 11, 12, 21, 22, 31, 32});
  CHECK(s.jobs.running() == 0);
}

TEST_CASE("who holds a slot keeps it while nobody waits", "[limiter]") {
  scene s(1);
  client& one = s.enter(1, rank::fresh);
  s.again(one, rank::fresh);
  CHECK(s.order == std::vector{1, 1});
  CHECK(s.jobs.running() == 1);
}

TEST_CASE("who holds a slot hands it to somebody before him and queues again", "[limiter]") {
  scene s(1);
  client& one = s.enter(1, rank::begun);
  client& two = s.enter(2, rank::begun);
  s.again(one, rank::begun);
  CHECK(s.order == std::vector{1, 2});
  CHECK_FALSE(one.slot);
  s.leave(two);
  CHECK(s.order == std::vector{1, 2, 1});
}

TEST_CASE("who holds a slot gets it straight back before less urgent work", "[limiter]") {
  scene s(1);
  client& one = s.enter(1, rank::begun);
  s.enter(2, rank::fresh);
  s.again(one, rank::begun);
  CHECK(s.order == std::vector{1, 1});
  CHECK(s.jobs.waiting() == 1);
}

TEST_CASE("a longer one goes first once `patience` brief ones have passed it", "[limiter]") {
  scene s(1);
  client& busy = s.enter(0, rank::fresh);
  s.enter(-1, rank::fresh);
  constexpr int brief = static_cast<int>(limiter::patience) + 2;
  for (int i = 1; i <= brief; ++i) s.enter(i, rank::brief);
  s.leave(busy);
  while (s.order.back() != -1) {
    for (const auto& c : s.clients) {
      if (c->slot) s.leave(*c);
    }
  }
  // 0, then `patience` brief ones, then the longer one.
  CHECK(s.order.size() == limiter::patience + 2);
}

TEST_CASE("patience counts only the brief work that passed the one that waits now", "[limiter]") {
  scene s(1);
  client* busy = &s.enter(0, rank::brief);
  client& longer = s.enter(-1, rank::fresh);
  // All but one of those that may pass go by, then the longer one has its turn anyway.
  for (unsigned i = 1; i < limiter::patience; ++i) {
    client& next = s.enter(static_cast<int>(i), rank::brief);
    s.leave(*busy);
    busy = &next;
  }
  s.leave(*busy);
  REQUIRE(s.order.back() == -1);
  // Another longer one waits, and as many may pass it again.
  s.enter(-2, rank::fresh);
  s.enter(101, rank::brief);
  s.enter(102, rank::brief);
  s.leave(longer);
  CHECK(s.order.back() == 101);
  for (const auto& c : s.clients) {
    if (c->name == 101) s.leave(*c);
  }
  CHECK(s.order.back() == 102);
}

TEST_CASE("a coroutine that is destroyed while it waits leaves the queue", "[limiter]") {
  scene s(1);
  client& busy = s.enter(0, rank::fresh);
  bool admitted = false;
  {
    const task<> waiting = ask_and_hold(&s.jobs, rank::fresh, &admitted);
    waiting.start();
    CHECK(s.jobs.waiting() == 1);
  }
  CHECK(s.jobs.waiting() == 0);
  s.enter(2, rank::fresh);
  s.leave(busy);
  CHECK(s.order == std::vector{0, 2});
  CHECK_FALSE(admitted);
}

TEST_CASE("a coroutine that is destroyed between the grant and its turn gives the slot back",
          "[limiter]") {
  scene s(1);
  client& busy = s.enter(0, rank::fresh);
  bool admitted = false;
  {
    const task<> waiting = ask_and_hold(&s.jobs, rank::fresh, &admitted);
    waiting.start();
    s.enter(2, rank::fresh);
    busy.slot.release();  // granted, and the queue has not run
    CHECK(s.jobs.running() == 1);
    CHECK(s.jobs.waiting() == 1);
  }
  s.queue.run();
  CHECK_FALSE(admitted);
  CHECK(s.order == std::vector{0, 2});
  CHECK(s.jobs.running() == 1);
  CHECK(s.jobs.waiting() == 0);
}

TEST_CASE("a coroutine that is destroyed while it holds a slot gives it back", "[limiter]") {
  scene s(1);
  bool admitted = false;
  {
    const task<> holding = ask_and_hold(&s.jobs, rank::fresh, &admitted);
    holding.start();
    CHECK(admitted);
    CHECK(s.jobs.running() == 1);
  }
  CHECK(s.jobs.running() == 0);
}

TEST_CASE("a permit is one slot however it is moved", "[limiter]") {
  scene s(2);
  client& one = s.enter(1, rank::fresh);
  client& two = s.enter(2, rank::fresh);
  permit moved = std::move(one.slot);
  CHECK_FALSE(one.slot);
  CHECK(s.jobs.running() == 2);
  moved = std::move(two.slot);
  CHECK(moved);
  moved.release();
  moved.release();
  two.slot.release();  // what `moved` held before
  CHECK(s.jobs.running() == 0);
}

TEST_CASE("idle slots are those that nobody runs in or waits for", "[limiter]") {
  scene s(2);
  CHECK(s.jobs.idle() == 2);
  client& one = s.enter(1, rank::fresh);
  CHECK(s.jobs.idle() == 1);
  s.enter(2, rank::fresh);
  s.enter(3, rank::fresh);
  CHECK(s.jobs.idle() == 0);
  s.leave(one);
  CHECK(s.jobs.idle() == 0);
}

TEST_CASE("a refused step waits until one of the running ones completes", "[limiter]") {
  scene s(4);
  client& one = s.enter(1, rank::begun);
  client& two = s.enter(2, rank::begun);
  client& three = s.enter(3, rank::begun);
  REQUIRE(s.jobs.refused(three.slot));
  CHECK_FALSE(three.slot);
  CHECK(s.jobs.running() == 2);
  CHECK(s.jobs.idle() == 0);
  s.again(three, rank::begun);
  CHECK(s.order == std::vector{1, 2, 3});
  CHECK(s.jobs.waiting() == 1);
  s.leave(one);
  CHECK(s.order == std::vector{1, 2, 3, 3});
  CHECK(two.slot);
  CHECK(s.jobs.running() == 2);
}

TEST_CASE("a refused step keeps its slot when nothing else runs", "[limiter]") {
  scene s(4);
  client& one = s.enter(1, rank::fresh);
  CHECK_FALSE(s.jobs.refused(one.slot));
  CHECK(one.slot);
  CHECK(s.jobs.running() == 1);
  CHECK(s.jobs.idle() == 3);
}

TEST_CASE("a limit lowered by refusals rises again by one every `recovery` slots", "[limiter]") {
  scene s(3);
  client& one = s.enter(1, rank::begun);
  client& two = s.enter(2, rank::begun);
  REQUIRE(s.jobs.refused(two.slot));
  s.leave(one);
  CHECK(s.jobs.idle() == 1);
  const unsigned given_back = 2;  // above
  for (unsigned slots = given_back; slots < 2 * limiter::recovery; ++slots) {
    CHECK(s.jobs.idle() == (slots < limiter::recovery ? 1 : 2));
    s.leave(s.enter(3, rank::begun));
    s.clients.pop_back();
  }
  CHECK(s.jobs.idle() == 3);
  for (unsigned slots = 0; slots < 2 * limiter::recovery; ++slots) {
    s.leave(s.enter(4, rank::begun));
    s.clients.pop_back();
  }
  CHECK(s.jobs.idle() == 3);
}

TEST_CASE("whatever comes and goes, K is never exceeded and nobody is forgotten", "[limiter]") {
  const std::uint64_t seed = GENERATE(1U, 2U, 3U, 4U);
  CAPTURE(seed);
  brio::test::dice choose(seed);
  const auto slots = static_cast<unsigned>(choose.between(1, 5));
  scene s(slots);
  for (int event = 0; event < 5000; ++event) {
    if (s.clients.empty() || choose.one_in(2)) {
      s.enter(event, static_cast<rank>(choose.below(3)));
    } else {
      const std::size_t n = choose.below(s.clients.size());
      client& who = *s.clients[n];
      if (who.slot && choose.one_in(3)) {
        s.again(who, static_cast<rank>(choose.below(3)));
      } else if (who.slot && choose.one_in(4)) {
        (void)s.jobs.refused(who.slot);
        s.queue.run();
      } else {
        s.clients.erase(s.clients.begin() + static_cast<std::ptrdiff_t>(n));
        s.queue.run();
      }
    }
    unsigned holding = 0;
    unsigned waiting = 0;
    for (const auto& c : s.clients) {
      holding += c->slot ? 1 : 0;
      waiting += c->waiting.done() ? 0 : 1;
    }
    REQUIRE(holding == s.jobs.running());
    REQUIRE(holding <= slots);
    REQUIRE(waiting == s.jobs.waiting());
    REQUIRE((waiting == 0 || holding > 0));
  }
}
