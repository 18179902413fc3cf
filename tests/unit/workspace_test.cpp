#include <brio/workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include <brio/faults.hpp>

#include "catch.hpp"

using brio::workspace;
using brio::workspace_cache;

TEST_CASE("a workspace gives a piece that was released to the next who wants about as much",
          "[workspace]") {
  const auto memory = workspace::create();
  void* piece = memory->allocate(1000);
  REQUIRE(piece != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(piece) % alignof(std::max_align_t) == 0);
  std::memset(piece, 1, 1000);
  memory->release(piece);
  CHECK(memory->allocate(800) == piece);
  CHECK(memory->bytes() == 1000);
}

TEST_CASE("a piece too small or more than twice too large is not given", "[workspace]") {
  workspace_cache cache(1);
  {
    const workspace_cache::lease memory = cache.get(1);
    memory->release(memory->allocate(1000));
  }
  const workspace_cache::lease memory = cache.get(1);
  void* large = memory->allocate(1001);
  CHECK(memory->bytes() == 2001);
  void* small = memory->allocate(400);
  CHECK(memory->bytes() == 2401);
  CHECK(memory->allocate(500) != small);
  CHECK(memory->bytes() == 2401);
  CHECK(large != nullptr);
}

TEST_CASE("what an encoder has given back goes before it gets more", "[workspace]") {
  const auto memory = workspace::create();
  memory->release(memory->allocate(1000));
  CHECK(memory->bytes() == 1000);
  memory->release(memory->allocate(5000));
  CHECK(memory->bytes() == 5000);
}

TEST_CASE("of several free pieces the smallest that fits is taken", "[workspace]") {
  const auto memory = workspace::create();
  void* large = memory->allocate(1100);
  void* small = memory->allocate(1000);
  memory->release(large);
  memory->release(small);
  CHECK(memory->allocate(1000) == small);
  CHECK(memory->allocate(1000) == large);
}

TEST_CASE("a piece in use is nobody else's", "[workspace]") {
  const auto memory = workspace::create();
  void* one = memory->allocate(64);
  void* other = memory->allocate(64);
  CHECK(one != other);
  memory->release(nullptr);
  CHECK(memory->bytes() == 128);
}

TEST_CASE("a workspace without memory says so until its next lease", "[workspace]") {
  workspace_cache cache(1);
  brio::fault_plan plan;
  const brio::fault_link link(plan);
  const bool recycled = GENERATE(false, true);
  CAPTURE(recycled);
  {
    const workspace_cache::lease memory = cache.get(1);
    if (recycled) memory->release(memory->allocate(64));
    const brio::fault_scope scope(link);
    plan.allocate.set(1);
    CHECK(memory->allocate(64) == nullptr);
    CHECK(memory->failed());
    CHECK(memory->allocate(64) != nullptr);
    CHECK(memory->failed());
  }
  CHECK_FALSE(cache.get(1)->failed());
}

TEST_CASE("the cache prefers the workspace last used for the same shape", "[workspace]") {
  workspace_cache cache(3);
  workspace* seven = nullptr;
  {
    const workspace_cache::lease one = cache.get(7);
    const workspace_cache::lease other = cache.get(8);
    seven = one.get();
  }
  {
    const workspace_cache::lease found = cache.get(7);
    CHECK(found.get() == seven);
    CHECK(cache.get(8).get() != seven);
  }
  CHECK(cache.get(8).get() != seven);
}

TEST_CASE("a workspace comes back with its pieces, but for those its last encoder did not use",
          "[workspace]") {
  workspace_cache cache(1);
  {
    const workspace_cache::lease memory = cache.get(1);
    void* one = memory->allocate(1000);
    void* other = memory->allocate(5000);
    memory->release(one);
    memory->release(other);
  }
  CHECK(cache.idle_bytes() == 6000);
  {
    const workspace_cache::lease memory = cache.get(1);
    CHECK(cache.idle_bytes() == 0);
    CHECK(memory->bytes() == 6000);
    memory->release(memory->allocate(1000));
  }
  CHECK(cache.idle_bytes() == 1000);
}

TEST_CASE("pieces that an encoder never gave back are free for the next one", "[workspace]") {
  workspace_cache cache(1);
  void* left_behind = cache.get(1)->allocate(1000);
  const workspace_cache::lease memory = cache.get(1);
  CHECK(memory->allocate(1000) == left_behind);
}

TEST_CASE("a cache keeps no more idle workspaces than it may, the most recent ones",
          "[workspace]") {
  workspace_cache cache(2);
  {
    // Given back in the reverse order.
    const workspace_cache::lease newest = cache.get(3);
    const workspace_cache::lease newer = cache.get(2);
    const workspace_cache::lease oldest = cache.get(1);
    newest->release(newest->allocate(300));
    newer->release(newer->allocate(200));
    oldest->release(oldest->allocate(100));
  }
  CHECK(cache.idle_bytes() == 500);
  CHECK(cache.get(2)->bytes() == 200);
  cache.trim();
  CHECK(cache.idle_bytes() == 0);
  CHECK(cache.get(2)->bytes() == 0);
}

TEST_CASE("a cache without memory gives an empty lease, and an idle workspace needs none",
          "[workspace]") {
  workspace_cache cache(1);
  brio::fault_plan plan;
  plan.allocate.set(brio::fault_trigger::always);
  const brio::fault_link link(plan);
  {
    const brio::fault_scope scope(link);
    CHECK_FALSE(cache.get(1));
  }
  cache.get(1).reset();
  const brio::fault_scope scope(link);
  CHECK(cache.get(1));
}
