#include <brio/async/run_queue.hpp>

#include <functional>
#include <utility>
#include <vector>

#include "catch.hpp"

namespace {

struct action final : brio::runnable {
  explicit action(std::function<void()> f) : f_(std::move(f)) {}
  void run() noexcept override { f_(); }

 private:
  std::function<void()> f_;
};

}  // namespace

TEST_CASE("a queue runs what was posted in that order, each once", "[run_queue]") {
  brio::run_queue queue;
  std::vector<int> ran;
  action one([&] { ran.push_back(1); });
  action two([&] { ran.push_back(2); });
  queue.post(one);
  queue.post(two);
  queue.post(one);
  CHECK(ran.empty());
  queue.run();
  queue.run();
  CHECK(ran == std::vector{1, 2});
}

TEST_CASE("what is posted while the queue runs gets its turn in the same run", "[run_queue]") {
  brio::run_queue queue;
  std::vector<int> ran;
  action last([&] { ran.push_back(2); });
  action first([&] {
    queue.post(last);
    ran.push_back(1);
  });
  queue.post(first);
  queue.run();
  CHECK(ran == std::vector{1, 2});
}

TEST_CASE("running the queue from one of its turns runs nothing inside that turn", "[run_queue]") {
  brio::run_queue queue;
  bool inside = false;
  bool nested = false;
  action second([&] { nested = inside; });
  action first([&] {
    inside = true;
    queue.post(second);
    queue.run();
    inside = false;
  });
  queue.post(first);
  queue.run();
  CHECK_FALSE(second.linked());
  CHECK_FALSE(nested);
}

TEST_CASE("an item may post itself again and gets one turn each time", "[run_queue]") {
  brio::run_queue queue;
  int turns = 0;
  action* self = nullptr;
  action again([&] {
    if (++turns < 3) queue.post(*self);
  });
  self = &again;
  queue.post(again);
  queue.run();
  CHECK(turns == 3);
}

TEST_CASE("an item that dies before its turn has none", "[run_queue]") {
  brio::run_queue queue;
  int turns = 0;
  action survivor([&] { ++turns; });
  {
    action gone([&] { turns += 10; });
    queue.post(gone);
    queue.post(survivor);
  }
  queue.run();
  CHECK(turns == 1);
}
