#include <brio/async/thread_pool.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "catch.hpp"

namespace {

using brio::submission;
using brio::thread_pool;

/// What a host's event loop does: sleeps until it is notified, then completes.
class loop {
 public:
  void notify() {
    const std::lock_guard lock(mutex_);
    ++notices_;
    changed_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return notices_ > 0; });
    notices_ = 0;
  }
  void run_until_idle(thread_pool& pool) {
    while (pool.jobs() > 0) {
      wait();
      pool.complete();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int notices_ = 0;
};

struct counted final : brio::job {
  std::thread::id ran_on;
  std::thread::id completed_on;
  int runs = 0;
  int completions = 0;
  void run() noexcept override {
    ++runs;
    ran_on = std::this_thread::get_id();
  }
  void complete() noexcept override {
    ++completions;
    completed_on = std::this_thread::get_id();
  }
};

/// Keeps its worker until it is opened.
class gate final : public brio::job {
 public:
  void wait_until_entered() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return entered_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void run() noexcept override {
    std::unique_lock lock(mutex_);
    entered_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void complete() noexcept override {}

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool entered_ = false;
  bool open_ = false;
};

}  // namespace

TEST_CASE("every job runs once on a worker and is completed once on the loop", "[thread_pool]") {
  loop events;
  thread_pool pool(2, 100, [&] { events.notify(); });
  std::deque<counted> jobs(100);
  for (counted& j : jobs) REQUIRE(pool.submit(j) == submission::accepted);
  CHECK(pool.jobs() == 100);
  events.run_until_idle(pool);
  const std::thread::id here = std::this_thread::get_id();
  for (const counted& j : jobs) {
    CHECK(j.runs == 1);
    CHECK(j.completions == 1);
    CHECK(j.ran_on != here);
    CHECK(j.completed_on == here);
  }
}

TEST_CASE("a pool refuses what its queue has no place for, and takes it later", "[thread_pool]") {
  loop events;
  thread_pool pool(1, 2, [&] { events.notify(); });
  gate busy;
  counted first, second, third;
  REQUIRE(pool.submit(busy) == submission::accepted);
  busy.wait_until_entered();
  CHECK(pool.submit(first) == submission::accepted);
  CHECK(pool.submit(second) == submission::accepted);
  CHECK(pool.submit(third) == submission::refused);
  CHECK(pool.jobs() == 3);
  busy.open();
  events.run_until_idle(pool);
  CHECK(third.runs == 0);
  CHECK(pool.submit(third) == submission::accepted);
  events.run_until_idle(pool);
  CHECK(third.completions == 1);
}

TEST_CASE("a pool without a queue takes a job whenever a worker is idle", "[thread_pool]") {
  loop events;
  thread_pool pool(1, 0, [&] { events.notify(); });
  counted j;
  while (pool.submit(j) == submission::refused) std::this_thread::yield();
  events.run_until_idle(pool);
  CHECK(j.completions == 1);
}

TEST_CASE("two workers run two jobs at the same time", "[thread_pool]") {
  loop events;
  thread_pool pool(2, 2, [&] { events.notify(); });
  gate one, other;
  REQUIRE(pool.submit(one) == submission::accepted);
  REQUIRE(pool.submit(other) == submission::accepted);
  one.wait_until_entered();
  other.wait_until_entered();
  one.open();
  other.open();
  events.run_until_idle(pool);
  CHECK(pool.jobs() == 0);
}

TEST_CASE("destroying a pool runs what is queued and completes nothing", "[thread_pool]") {
  loop events;
  std::deque<counted> jobs(20);
  {
    thread_pool pool(2, 20, [&] { events.notify(); });
    for (counted& j : jobs) REQUIRE(pool.submit(j) == submission::accepted);
  }
  for (const counted& j : jobs) {
    CHECK(j.runs == 1);
    CHECK(j.completions == 0);
    CHECK_FALSE(j.linked());
  }
}
