#include <brio/blocks.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <brio/faults.hpp>

#include "bytes.hpp"
#include "catch.hpp"

using brio::block;
using brio::block_handle;
using brio::block_pool;
using brio::block_queue;

TEST_CASE("a block has the smallest capacity that holds what was asked for", "[blocks]") {
  block_pool pool;
  const std::size_t kib = 1024;
  CHECK(pool.get(0)->capacity() == 4 * kib);
  CHECK(pool.get(4 * kib)->capacity() == 4 * kib);
  CHECK(pool.get(4 * kib + 1)->capacity() == 16 * kib);
  CHECK(pool.get(16 * kib + 1)->capacity() == 64 * kib);
  CHECK(pool.get(64 * kib + 1)->capacity() == 256 * kib);
  CHECK(pool.get(1024 * kib)->capacity() == 256 * kib);
}

TEST_CASE("a block takes bytes until it is full", "[blocks]") {
  block_pool pool;
  const block_handle b = pool.get(1);
  const brio::test::bytes input = brio::test::noise(5000, 1);
  CHECK(b->append({}) == 0);
  CHECK(b->append(std::span(input).first(96)) == 96);
  CHECK(b->append(std::span(input).subspan(96)) == 4000);
  CHECK(b->room() == 0);
  CHECK(b->append(input) == 0);
  CHECK(std::ranges::equal(b->bytes(), std::span(input).first(4096)));
}

TEST_CASE("bytes may be written into a block's free space directly", "[blocks]") {
  block_pool pool;
  const block_handle b = pool.get(1);
  b->free_space()[0] = std::byte{7};
  b->grow(1);
  CHECK(b->size() == 1);
  CHECK(b->bytes()[0] == std::byte{7});
  CHECK(b->free_space().size() == 4095);
}

TEST_CASE("a pool hands out the block it got back, without its old contents or marks", "[blocks]") {
  block_pool pool;
  block_handle b = pool.get(1);
  const block* address = b.get();
  b->flush = true;
  b->last = true;
  b->grow(10);
  b.reset();
  CHECK(pool.used_bytes() == 0);
  CHECK(pool.kept_bytes() == 4096);
  b = pool.get(1);
  CHECK(b.get() == address);
  CHECK(b->size() == 0);
  CHECK_FALSE(b->flush);
  CHECK_FALSE(b->last);
  CHECK(pool.used_bytes() == 4096);
  CHECK(pool.kept_bytes() == 0);
}

TEST_CASE("a pool keeps a bounded number of bytes and gives them back when trimmed", "[blocks]") {
  block_pool pool;
  std::vector<block_handle> blocks;
  const std::size_t largest = block_pool::capacities.back();
  for (std::size_t bytes = 0; bytes < 2 * block_pool::kept_at_most; bytes += largest) {
    blocks.push_back(pool.get(largest));
  }
  CHECK(pool.used_bytes() == 2 * block_pool::kept_at_most);
  blocks.clear();
  CHECK(pool.used_bytes() == 0);
  CHECK(pool.kept_bytes() == block_pool::kept_at_most);
  pool.trim();
  CHECK(pool.kept_bytes() == 0);
}

TEST_CASE("a pool without memory gives an empty handle, whether it keeps blocks or not",
          "[blocks]") {
  block_pool pool;
  if (GENERATE(false, true)) pool.get(1).reset();
  const std::size_t kept = pool.kept_bytes();
  brio::fault_plan plan;
  plan.allocate.set(1);
  const brio::fault_link link(plan);
  const brio::fault_scope scope(link);
  CHECK_FALSE(pool.get(1));
  CHECK(pool.used_bytes() == 0);
  CHECK(pool.kept_bytes() == kept);
  CHECK(pool.get(1));
}

TEST_CASE("a queue gives its blocks in order, and the last one on request", "[blocks]") {
  block_pool pool;
  block_queue queue;
  for (std::size_t size = 1; size <= 3; ++size) {
    block_handle b = pool.get(1);
    b->grow(size);
    queue.push(std::move(b));
  }
  CHECK(queue.count() == 3);
  CHECK(queue.front().size() == 1);
  CHECK(queue.back().size() == 3);
  CHECK(queue.pop_back()->size() == 3);
  CHECK(queue.pop()->size() == 1);
  CHECK(queue.pop()->size() == 2);
  CHECK(queue.empty());
  CHECK(pool.used_bytes() == 0);
}

TEST_CASE("a queue that is cleared or dies gives its blocks back", "[blocks]") {
  block_pool pool;
  {
    block_queue queue;
    queue.push(pool.get(1));
    queue.clear();
    CHECK(queue.count() == 0);
    CHECK(pool.used_bytes() == 0);
    queue.push(pool.get(1));
  }
  CHECK(pool.used_bytes() == 0);
}
