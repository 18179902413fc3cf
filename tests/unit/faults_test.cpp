#include <brio/faults.hpp>

#include <chrono>
#include <memory>
#include <thread>

#include "catch.hpp"

using brio::allocation_fails;
using brio::fault_link;
using brio::fault_plan;
using brio::fault_scope;
using brio::fault_trigger;

TEST_CASE("a trigger fires at its event and at no other", "[faults]") {
  fault_trigger t;
  CHECK_FALSE(t.fires());
  t.set(3);
  CHECK_FALSE(t.fires());
  CHECK_FALSE(t.fires());
  CHECK(t.waiting());
  CHECK(t.fires());
  CHECK_FALSE(t.waiting());
  CHECK_FALSE(t.fires());
}

TEST_CASE("a trigger set to always fires every time until it is set to never", "[faults]") {
  fault_trigger t;
  t.set(fault_trigger::always);
  CHECK(t.fires());
  CHECK(t.fires());
  t.set(fault_trigger::never);
  CHECK_FALSE(t.fires());
}

TEST_CASE("a link without a plan lets nothing go wrong", "[faults]") {
  const fault_link none;
  CHECK_FALSE(none.refuses());
  CHECK_FALSE(none.fails());
  const fault_scope scope(none);
  CHECK_FALSE(allocation_fails());
}

TEST_CASE("allocations fail only inside the scope of a plan, the innermost one", "[faults]") {
  fault_plan plan;
  plan.allocate.set(fault_trigger::always);
  const fault_link link(plan);
  CHECK_FALSE(allocation_fails());
  {
    const fault_scope scope(link);
    CHECK(allocation_fails());
    {
      const fault_link none;
      const fault_scope inner(none);
      CHECK_FALSE(allocation_fails());
    }
    CHECK(allocation_fails());
  }
  CHECK_FALSE(allocation_fails());
}

TEST_CASE("a scope is the thread's own", "[faults]") {
  fault_plan plan;
  plan.allocate.set(fault_trigger::always);
  const fault_link link(plan);
  const fault_scope scope(link);
  bool elsewhere = true;
  std::thread([&] { elsewhere = allocation_fails(); }).join();
  CHECK_FALSE(elsewhere);
  CHECK(allocation_fails());
}

TEST_CASE("a link keeps a shared plan alive", "[faults]") {
  auto plan = std::make_shared<fault_plan>();
  plan->refuse.set(1);
  plan->fail.set(1);
  const fault_link link(std::move(plan));
  CHECK(link.refuses());
  CHECK_FALSE(link.refuses());
  CHECK(link.fails());
  CHECK_FALSE(link.fails());
}

TEST_CASE("a delayed step waits at least as long as its plan says", "[faults]") {
  fault_plan plan;
  plan.delay = std::chrono::milliseconds(5);
  const fault_link link(plan);
  const auto before = std::chrono::steady_clock::now();
  link.delay();
  CHECK(std::chrono::steady_clock::now() - before >= plan.delay);
}
