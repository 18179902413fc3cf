#include <brio/async/task.hpp>

#include <coroutine>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <brio/async/run_queue.hpp>
#include <brio/faults.hpp>

#include "catch.hpp"

namespace {

using brio::task;

struct park {
  std::coroutine_handle<> parked;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) noexcept { parked = h; }
  void await_resume() const noexcept {}
};

task<int> number(int value) { co_return value; }

task<std::string> spell(int value) {
  task<int> inner = number(value);
  const int got = co_await inner;
  co_return std::to_string(got);
}

task<> note(bool* ran) {
  *ran = true;
  co_return;
}

task<int> fail() {
  throw std::runtime_error("no number");
  co_return 0;
}

task<int> fail_through() {
  task<int> inner = fail();
  const int got = co_await inner;
  co_return got;
}

task<> hold(std::shared_ptr<int> held, park* where) {
  co_await *where;
  *held = 1;
}

task<> hold_nested(std::shared_ptr<int> held, park* where) {
  task<> inner = hold(std::move(held), where);
  co_await inner;
}

/// Awaits a thousand times on a queue, as a segment does for its steps.
struct turn final : brio::suspended {
  explicit turn(brio::run_queue& q) : queue(q) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) noexcept {
    set_handle(h);
    queue.post(*this);
  }
  void await_resume() const noexcept {}
  brio::run_queue& queue;
};

task<> take_turns(brio::run_queue* queue, int* turns, int limit) {
  while (*turns < limit) {
    turn next(*queue);
    co_await next;
    ++*turns;
  }
}

}  // namespace

TEST_CASE("a task does nothing before it is started", "[task]") {
  bool ran = false;
  const task<> lazy = note(&ran);
  CHECK_FALSE(ran);
  CHECK_FALSE(lazy.done());
  lazy.start();
  CHECK(ran);
  CHECK(lazy.done());
}

TEST_CASE("awaiting a task gives what it returned", "[task]") {
  const task<std::string> outer = spell(42);
  outer.start();
  REQUIRE(outer.done());
  CHECK(outer.result() == "42");
}

TEST_CASE("an exception reaches whoever asks for the result", "[task]") {
  const task<int> outer = fail_through();
  outer.start();
  REQUIRE(outer.done());
  CHECK_THROWS_AS(outer.result(), std::runtime_error);
}

TEST_CASE("destroying a task that never started releases its parameters", "[task]") {
  const auto held = std::make_shared<int>(0);
  park never;
  {
    const task<> unused = hold(held, &never);
    CHECK(held.use_count() == 2);
  }
  CHECK(held.use_count() == 1);
}

TEST_CASE("destroying a suspended task destroys what it awaits too", "[task]") {
  const auto held = std::make_shared<int>(0);
  park where;
  {
    const task<> outer = hold_nested(held, &where);
    outer.start();
    CHECK(where.parked);
    CHECK(held.use_count() == 2);
  }
  CHECK(held.use_count() == 1);
  CHECK(*held == 0);
}

TEST_CASE("resuming the innermost task finishes the outermost", "[task]") {
  const auto held = std::make_shared<int>(0);
  park where;
  const task<> outer = hold_nested(held, &where);
  outer.start();
  CHECK_FALSE(outer.done());
  where.parked.resume();
  CHECK(outer.done());
  CHECK(*held == 1);
}

TEST_CASE("a task that is moved from is empty, and its frame lives on in the other", "[task]") {
  bool ran = false;
  task<> one = note(&ran);
  task<> other = std::move(one);
  CHECK_FALSE(one);  // NOLINT(bugprone-use-after-move)
  REQUIRE(other);
  other.start();
  CHECK(ran);
}

TEST_CASE("without memory for its frame a coroutine gives an empty task", "[task]") {
  brio::fault_plan plan;
  plan.allocate.set(1);
  const brio::fault_link link(plan);
  bool ran = false;
  {
    const brio::fault_scope scope(link);
    const task<> none = note(&ran);
    CHECK_FALSE(none);
    CHECK_FALSE(none.done());
  }
  CHECK_FALSE(ran);
}

TEST_CASE("a task may wait its turn any number of times without deepening the stack", "[task]") {
  brio::run_queue queue;
  int turns = 0;
  const task<> walker = take_turns(&queue, &turns, 1'000'000);
  walker.start();
  queue.run();
  CHECK(turns == 1'000'000);
  CHECK(walker.done());
}
