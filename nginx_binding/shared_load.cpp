#include "shared_load.hpp"

#include <new>

#include "module.hpp"

namespace brio::nginx {

shared_load::table* shared_load::table_ = nullptr;

ngx_int_t shared_load::add_zone(ngx_conf_t* cf) noexcept {
  ngx_str_t name = ngx_string("brio");
  const std::size_t size = sizeof(table) + 8 * ngx_pagesize;
  ngx_shm_zone_t* zone = ngx_shared_memory_add(cf, &name, size, &ngx_http_brio_module);
  if (zone == nullptr) return NGX_ERROR;
  zone->init = init_zone;
  return NGX_OK;
}

ngx_int_t shared_load::init_zone(ngx_shm_zone_t* zone, void* data) noexcept {
  if (data == nullptr) {
    auto* pool = reinterpret_cast<ngx_slab_pool_t*>(zone->shm.addr);
    data = zone->shm.exists ? pool->data : ngx_slab_calloc(pool, sizeof(table));
    if (data == nullptr) return NGX_ERROR;
    if (!zone->shm.exists) data = new (data) table{};
    pool->data = data;
  }
  zone->data = data;
  table_ = static_cast<table*>(data);
  return NGX_OK;
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
