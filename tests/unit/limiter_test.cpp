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
using brio::step_class;
using brio::task;

/// Somebody who wants a slot and keeps it until told otherwise.
struct client {
  int name = 0;
  permit slot;
  task<> waiting;
};

task<> ask(limiter* jobs, step_class step, client* who, std::vector<int>* order) {
  co_await jobs->admit(who->slot, step);
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
  explicit scene(unsigned slots, brio::peer_load* peers = nullptr) : jobs(queue, slots, peers) {}

  client& enter(int name, rank urgency, bool dear = false) {
    clients.push_back(std::make_unique<client>());
    client& made = *clients.back();
    made.name = name;
    again(made, urgency, dear);
    return made;
  }
  /// Asks once more, with whatever slot the client holds.
  void again(client& who, rank urgency, bool dear = false) {
    who.waiting = ask(&jobs, {urgency, dear}, &who, &order);
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

TEST_CASE("what is about to end goes first, then brief work, what has begun, what is fresh",
          "[limiter]") {
  scene s(1);
  client& busy = s.enter(0, rank::fresh);
  s.enter(31, rank::fresh);
  s.enter(21, rank::begun);
  s.enter(11, rank::brief);
  s.enter(32, rank::fresh);
  s.enter(22, rank::begun);
  s.enter(12, rank::brief);
  s.enter(1, rank::ending);
  s.leave(busy);
  for (const int expected : {1, 11, 12, 21, 22, 31, 32}) {
    CHECK(s.order.back() == expected);
    for (const auto& c : s.clients) {
      if (c->name == expected) s.leave(*c);
    }
  }
  CHECK(s.order == std::vector{0, 1, 11, 12, 21, 22, 31, 32});
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

TEST_CASE("slots are crowded when dear steps have all of them", "[limiter]") {
  scene s(2);
  CHECK_FALSE(s.jobs.crowded());
  client& one = s.enter(1, rank::fresh, true);
  CHECK_FALSE(s.jobs.crowded());
  client& two = s.enter(2, rank::fresh, false);
  CHECK_FALSE(s.jobs.crowded());
  client& three = s.enter(3, rank::fresh, true);
  s.leave(two);
  CHECK(three.slot);
  CHECK(s.jobs.crowded());
  s.leave(one);
  CHECK_FALSE(s.jobs.crowded());
}

TEST_CASE("a slot that is kept is as dear as the step it is kept for", "[limiter]") {
  scene s(1);
  client& one = s.enter(1, rank::fresh);
  CHECK_FALSE(s.jobs.crowded());
  s.again(one, rank::begun, true);
  CHECK(s.jobs.crowded());
  s.again(one, rank::begun);
  CHECK_FALSE(s.jobs.crowded());
  s.again(one, rank::begun, true);
  s.leave(one);
  s.enter(2, rank::fresh);  // the count is right again
  CHECK_FALSE(s.jobs.crowded());
}

TEST_CASE("slots lowered by a refusal are crowded when dear steps have all that are left",
          "[limiter]") {
  scene s(3);
  s.enter(1, rank::fresh, true);
  client& two = s.enter(2, rank::fresh);
  CHECK_FALSE(s.jobs.crowded());
  REQUIRE(s.jobs.refused(two.slot));
  CHECK(s.jobs.crowded());
}

namespace {

struct peers final : brio::peer_load {
  unsigned here = 0;
  unsigned elsewhere = 0;
  void publish(unsigned running) noexcept override { here = running; }
  [[nodiscard]] unsigned others() const noexcept override { return elsewhere; }
};

}  // namespace

TEST_CASE("event loops on the same CPUs run no more steps than there are CPUs", "[limiter]") {
  peers load;
  load.elsewhere = 2;
  scene s(4, &load);
  CHECK(s.jobs.idle() == 2);
  client& one = s.enter(1, rank::fresh);
  s.enter(2, rank::fresh);
  s.enter(3, rank::fresh);
  CHECK(s.order == std::vector{1, 2});
  CHECK(load.here == 2);
  CHECK(s.jobs.idle() == 0);
  load.elsewhere = 1;
  s.leave(one);
  CHECK(s.order == std::vector{1, 2, 3});
  CHECK(load.here == 2);
}

TEST_CASE("each event loop may run one step however many the others run", "[limiter]") {
  peers load;
  load.elsewhere = 100;
  scene s(2, &load);
  client& one = s.enter(1, rank::fresh);
  s.enter(2, rank::fresh);
  CHECK(s.order == std::vector{1});
  CHECK(s.jobs.idle() == 0);
  s.again(one, rank::begun);  // keeps it, but takes turns
  s.leave(one);
  CHECK(s.order == std::vector{1, 1, 2});
  CHECK(load.here == 1);
}

TEST_CASE("a loop gives slots up when the others need the CPUs", "[limiter]") {
  peers load;
  scene s(2, &load);
  client& one = s.enter(1, rank::begun);
  client& two = s.enter(2, rank::begun);
  CHECK(load.here == 2);
  load.elsewhere = 1;
  s.again(one, rank::begun);
  CHECK_FALSE(one.slot);
  CHECK(load.here == 1);
  s.again(two, rank::begun);  // the last one stays, whoever it is
  CHECK(load.here == 1);
  CHECK(s.jobs.waiting() == 1);
}

TEST_CASE("whatever comes and goes, K is never exceeded and nobody is forgotten", "[limiter]") {
  const std::uint64_t seed = GENERATE(1U, 2U, 3U, 4U);
  CAPTURE(seed);
  brio::test::dice choose(seed);
  const auto slots = static_cast<unsigned>(choose.between(1, 5));
  scene s(slots);
  for (int event = 0; event < 5000; ++event) {
    if (s.clients.empty() || choose.one_in(2)) {
      s.enter(event, static_cast<rank>(choose.below(4)));
    } else {
      const std::size_t n = choose.below(s.clients.size());
      client& who = *s.clients[n];
      if (who.slot && choose.one_in(3)) {
        s.again(who, static_cast<rank>(choose.below(4)), choose.one_in(2));
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
