#include "shared_load.hpp"

#include <new>

namespace brio::nginx {

shared_load::table* shared_load::table_ = nullptr;

std::size_t shared_load::size() noexcept { return sizeof(table) + 8 * ngx_pagesize; }

void* shared_load::open(ngx_shm_t& memory, void* there) noexcept {
  if (there == nullptr) {
    auto* pool = reinterpret_cast<ngx_slab_pool_t*>(memory.addr);
    there = memory.exists ? pool->data : ngx_slab_calloc(pool, sizeof(table));
    if (there == nullptr) return nullptr;
    if (!memory.exists) there = new (there) table{};
    pool->data = there;
  }
  table_ = static_cast<table*>(there);
  return there;
}

void shared_load::reset() noexcept {
  if (table_ != nullptr) shared_load().publish(0);
}

void shared_load::publish(unsigned running) noexcept {
  const std::uint64_t written = std::uint64_t{ngx_current_msec} << count_bits | running;
  table_->slots[static_cast<std::size_t>(ngx_process_slot)].store(written,
                                                                  std::memory_order_relaxed);
  ngx_int_t used = table_->used.load(std::memory_order_relaxed);
  while (used <= ngx_process_slot && !table_->used.compare_exchange_weak(
                                         used, ngx_process_slot + 1, std::memory_order_relaxed)) {
  }
}

unsigned shared_load::others() const noexcept {
  const ngx_int_t used = table_->used.load(std::memory_order_relaxed);
  unsigned sum = 0;
  for (ngx_int_t slot = 0; slot < used; ++slot) {
    if (slot == ngx_process_slot) continue;
    const std::uint64_t written =
        table_->slots[static_cast<std::size_t>(slot)].load(std::memory_order_relaxed);
    const std::uint64_t age = ngx_current_msec - (written >> count_bits);
    if (age < lifetime) sum += static_cast<unsigned>(written & ((1U << count_bits) - 1));
  }
  return sum;
}

}  // namespace brio::nginx
