#include <brio/async/executor.hpp>
#include <brio/async/inline_executor.hpp>

#include <optional>
#include <vector>

#include <brio/async/task.hpp>

#include "catch.hpp"
#include "manual_executor.hpp"

namespace {

using brio::submission;
using brio::test::manual_executor;

struct add_one {
  int value = 0;
  void operator()() noexcept { ++value; }
};

struct counting_job final : brio::job {
  int runs = 0;
  int completions = 0;
  void run() noexcept override { ++runs; }
  void complete() noexcept override { ++completions; }
};

brio::task<> offload_once(brio::executor_ref executor, brio::run_queue* queue, add_one* work,
                          std::optional<bool>* outcome) {
  const bool ran = co_await brio::offload(executor, *queue, *work);
  *outcome = ran;
}

struct scene {
  brio::run_queue queue;
  add_one work;
  std::optional<bool> outcome;

  brio::task<> start(brio::executor_ref executor) {
    brio::task<> made = offload_once(executor, &queue, &work, &outcome);
    made.start();
    return made;
  }
};

struct probe final : brio::runnable {
  explicit probe(manual_executor& e, const scene& s) : executor(e), watched(s) {}
  void run() noexcept override {
    executor.complete();
    resumed_inside = watched.outcome.has_value();
  }
  manual_executor& executor;
  const scene& watched;
  bool resumed_inside = false;
};

}  // namespace

TEST_CASE("the inline executor runs a job in submit() and does not complete it", "[executor]") {
  brio::inline_executor executor;
  counting_job j;
  CHECK(executor.submit(j) == submission::ran);
  CHECK(executor.runs_inline());
  CHECK(j.runs == 1);
  CHECK(j.completions == 0);
}

TEST_CASE("offload on the inline executor has done the work when it returns", "[executor]") {
  brio::inline_executor executor;
  scene s;
  const brio::task<> waiting = s.start(executor);
  CHECK(waiting.done());
  CHECK(s.outcome == true);
  CHECK(s.work.value == 1);
}

TEST_CASE("offload resumes when its job is completed, not when it has run", "[executor]") {
  manual_executor executor;
  scene s;
  const brio::task<> waiting = s.start(executor);
  CHECK(s.work.value == 0);
  executor.run();
  CHECK(s.work.value == 1);
  CHECK_FALSE(s.outcome.has_value());
  executor.complete();
  CHECK(s.outcome == true);
  CHECK(s.work.value == 1);
  CHECK(waiting.done());
}

TEST_CASE("offload says false when the executor refused, and nothing was done", "[executor]") {
  manual_executor executor;
  executor.refuse_next(1);
  scene s;
  const brio::task<> waiting = s.start(executor);
  CHECK(waiting.done());
  CHECK(s.outcome == false);
  CHECK(s.work.value == 0);
  CHECK(executor.idle());
}

TEST_CASE("a job completed from a turn of the queue resumes in a turn of its own", "[executor]") {
  manual_executor executor;
  scene s;
  const brio::task<> waiting = s.start(executor);
  executor.run();
  probe completing(executor, s);
  s.queue.post(completing);
  s.queue.run();
  CHECK_FALSE(completing.resumed_inside);
  CHECK(s.outcome == true);
}

TEST_CASE("a reference to an executor passes everything on", "[executor]") {
  manual_executor executor;
  executor.refuse_nth(2);
  brio::executor_ref reference(executor);
  counting_job one;
  counting_job two;
  CHECK_FALSE(reference.runs_inline());
  CHECK(reference.submit(one) == submission::accepted);
  CHECK(reference.submit(two) == submission::refused);
  executor.run();
  executor.complete();
  CHECK(one.runs == 1);
  CHECK(one.completions == 1);
  CHECK(two.runs == 0);
  brio::inline_executor direct;
  CHECK(brio::executor_ref(direct).runs_inline());
}

TEST_CASE("the manual executor runs and completes in any order", "[executor]") {
  manual_executor executor;
  scene first;
  scene second;
  const brio::task<> one = first.start(executor);
  const brio::task<> two = second.start(executor);
  executor.run(1);
  executor.run(0);
  executor.complete(1);
  CHECK(one.done());
  CHECK_FALSE(two.done());
  executor.complete();
  CHECK(two.done());
}
