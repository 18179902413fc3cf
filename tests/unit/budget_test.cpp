#include <brio/budget.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <brio/async/run_queue.hpp>
#include <brio/async/task.hpp>

#include "catch.hpp"
#include "dice.hpp"

namespace {

using brio::budget;
using brio::claim;
using brio::reservation;
using brio::task;

/// Somebody who wants an encoder and keeps the right to one until told otherwise.
struct client final : brio::resting_encoder {
  explicit client(int n) : name(n) {}
  void give_back() noexcept override {
    ++asked;
    if (gives) right.release();
  }

  int name;
  bool gives = true;
  int asked = 0;
  claim right;
  task<> waiting;
};

task<> ask(budget* memory, std::size_t bytes, client* who, std::vector<int>* order) {
  co_await memory->admit(who->right, bytes);
  order->push_back(who->name);
}

struct scene {
  explicit scene(std::size_t limit, unsigned slots = 1) : memory(queue, limit, slots) {}

  client& enter(int name, std::size_t bytes) {
    clients.push_back(std::make_unique<client>(name));
    client& made = *clients.back();
    made.waiting = ask(&memory, bytes, &made, &order);
    made.waiting.start();
    queue.run();
    return made;
  }
  void leave(client& who) {
    who.right.release();
    queue.run();
  }

  brio::run_queue queue;
  budget memory;
  std::vector<int> order;
  std::deque<std::unique_ptr<client>> clients;  // last: they die before `memory`
};

}  // namespace

TEST_CASE("encoders are let in while they fit, and the others as memory comes back", "[budget]") {
  scene s(100);
  client& one = s.enter(1, 60);
  client& two = s.enter(2, 40);
  s.enter(3, 70);
  CHECK(s.order == std::vector{1, 2});
  CHECK(s.memory.claimed() == 100);
  s.leave(two);
  CHECK(s.order == std::vector{1, 2});
  s.leave(one);
  CHECK(s.order == std::vector{1, 2, 3});
  CHECK(s.memory.claimed() == 70);
}

TEST_CASE("nobody who would fit passes one who waits for more", "[budget]") {
  scene s(100);
  client& one = s.enter(1, 60);
  s.enter(2, 60);
  s.enter(3, 10);
  CHECK(s.order == std::vector{1});
  s.leave(one);
  CHECK(s.order == std::vector{1, 2, 3});
}

TEST_CASE("one encoder at a time is let through however small the budget", "[budget]") {
  scene s(10);
  client& one = s.enter(1, 1000);
  s.enter(2, 1000);
  CHECK(s.order == std::vector{1});
  s.leave(one);
  CHECK(s.order == std::vector{1, 2});
}

TEST_CASE("what has been reserved is not there for encoders", "[budget]") {
  scene s(100);
  const reservation held = s.memory.reserve(50, 10);
  s.enter(1, 30);
  s.enter(2, 30);
  CHECK(s.order == std::vector{1});
  CHECK(s.memory.reserved() == 50);
}

TEST_CASE("encoders that rest are asked back for one who does not fit, the longest first",
          "[budget]") {
  scene s(100);
  client& one = s.enter(1, 40);
  client& two = s.enter(2, 40);
  s.memory.rest(two);
  s.memory.rest(one);
  s.enter(3, 50);
  CHECK(s.order == std::vector{1, 2, 3});
  CHECK(two.asked == 1);
  CHECK(one.asked == 0);
  CHECK(s.memory.asked_back() == 1);
}

TEST_CASE("an encoder that must be flushed first comes back later", "[budget]") {
  scene s(100);
  client& one = s.enter(1, 90);
  one.gives = false;
  s.memory.rest(one);
  s.enter(2, 50);
  CHECK(one.asked == 1);
  CHECK(s.order == std::vector{1});
  s.leave(one);
  CHECK(s.order == std::vector{1, 2});
}

TEST_CASE("an encoder that comes to rest while others wait is asked back at once", "[budget]") {
  scene s(100);
  client& one = s.enter(1, 90);
  s.enter(2, 50);
  CHECK(s.order == std::vector{1});
  s.memory.rest(one);
  s.queue.run();
  CHECK(one.asked == 1);
  CHECK(s.order == std::vector{1, 2});
}

TEST_CASE("an encoder that no longer rests is not asked back", "[budget]") {
  scene s(100);
  client& one = s.enter(1, 90);
  s.memory.rest(one);
  one.unlink();
  s.enter(2, 50);
  CHECK(one.asked == 0);
}

TEST_CASE("nobody is asked back for one who fits", "[budget]") {
  scene s(100);
  client& one = s.enter(1, 50);
  s.memory.rest(one);
  s.enter(2, 50);
  CHECK(one.asked == 0);
  CHECK(s.order == std::vector{1, 2});
}

TEST_CASE("a coroutine that is destroyed while it waits leaves the queue of the budget",
          "[budget]") {
  scene s(100);
  client& one = s.enter(1, 90);
  s.enter(2, 50);
  s.enter(3, 50);
  s.clients[1]->waiting = {};
  s.leave(one);
  CHECK(s.order == std::vector{1, 3});
  CHECK(s.memory.claimed() == 50);
}

TEST_CASE("a claim granted to a coroutine that is destroyed before its turn comes back",
          "[budget]") {
  scene s(100);
  client& one = s.enter(1, 90);
  client& two = s.enter(2, 80);
  one.right.release();  // granted, and the queue has not run
  CHECK(s.memory.claimed() == 80);
  two.waiting = {};
  two.right.release();
  s.queue.run();
  CHECK(s.order == std::vector{1});
  CHECK(s.memory.claimed() == 0);
}

TEST_CASE("a response is refused when its input and an encoder for each slot do not fit",
          "[budget]") {
  brio::run_queue queue;
  budget memory(queue, 100, 2);
  const reservation one = memory.reserve(30, 20);
  CHECK(one);
  const reservation other = memory.reserve(30, 20);  // 60 and twice 20
  CHECK(other);
  CHECK_FALSE(memory.reserve(1, 20));
  CHECK_FALSE(memory.reserve(0, 21));
  CHECK(memory.reserve(0, 20));
}

TEST_CASE("no more than half of the budget is set aside for encoders", "[budget]") {
  brio::run_queue queue;
  budget memory(queue, 100, 2);
  const reservation one = memory.reserve(20, 80);
  const reservation other = memory.reserve(30, 80);
  CHECK(other);
  CHECK_FALSE(memory.reserve(1, 80));
}

TEST_CASE("the first response is taken however small the budget, and counts until it is gone",
          "[budget]") {
  brio::run_queue queue;
  budget memory(queue, 10, 1);
  {
    const reservation one = memory.reserve(1000, 1000);
    CHECK(one);
    CHECK_FALSE(memory.reserve(1, 1));
  }
  CHECK(memory.reserved() == 0);
  const reservation small = memory.reserve(5, 1);
  CHECK(small);
  CHECK(memory.reserve(1, 1));  // the large encoder is out of sight
}

TEST_CASE("encoders that rest are asked back when a response is taken for which they leave no room",
          "[budget]") {
  scene s(100);
  const reservation one = s.memory.reserve(10, 20);
  client& first = s.enter(1, 40);
  client& second = s.enter(2, 40);
  s.memory.rest(first);
  s.memory.rest(second);
  const reservation other = s.memory.reserve(10, 20);
  CHECK(first.asked == 0);  // just fits
  const reservation third = s.memory.reserve(1, 20);
  CHECK(third);
  CHECK(first.asked == 1);
  CHECK(second.asked == 0);
  CHECK(s.memory.reserved() + s.memory.claimed() <= s.memory.limit());
}

TEST_CASE("an encoder that comes to rest while more is promised than there is, is asked back",
          "[budget]") {
  scene s(100);
  const reservation one = s.memory.reserve(10, 20);
  client& first = s.enter(1, 40);
  client& second = s.enter(2, 40);
  const reservation other = s.memory.reserve(20, 20);
  s.memory.rest(first);
  s.memory.rest(second);
  CHECK(first.asked == 1);
  CHECK(second.asked == 0);
}

TEST_CASE("a reservation is one however it is moved", "[budget]") {
  brio::run_queue queue;
  budget memory(queue, 100, 1);
  reservation one = memory.reserve(10, 1);
  reservation other = memory.reserve(20, 1);
  const reservation moved = std::move(one);
  CHECK(memory.reserved() == 30);
  one = std::move(other);
  CHECK(memory.reserved() == 30);
  CHECK(moved);
}

TEST_CASE("whatever comes and goes, the budget holds and nobody is forgotten", "[budget]") {
  const std::uint64_t seed = GENERATE(1U, 2U, 3U);
  CAPTURE(seed);
  brio::test::dice choose(seed);
  constexpr std::size_t limit = 100;
  scene s(limit);
  for (int event = 0; event < 3000; ++event) {
    if (s.clients.empty() || choose.one_in(2)) {
      s.enter(event, choose.between(1, 80)).gives = choose.one_in(2);
    } else {
      const std::size_t n = choose.below(s.clients.size());
      client& who = *s.clients[n];
      if (who.right && choose.one_in(2)) {
        s.memory.rest(who);
      } else {
        s.clients.erase(s.clients.begin() + static_cast<std::ptrdiff_t>(n));
      }
      s.queue.run();
    }
    std::size_t waiting = 0;
    for (const auto& c : s.clients) waiting += c->waiting.done() ? 0 : 1;
    REQUIRE(s.memory.claimed() <= limit);
    REQUIRE((waiting == 0 || s.memory.claimed() > 0));
  }
  s.clients.clear();
  CHECK(s.memory.claimed() == 0);
}
