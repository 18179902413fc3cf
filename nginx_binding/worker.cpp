#include "worker.hpp"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <new>

#include "module.hpp"
#include "options.hpp"

namespace brio::nginx {

worker* worker::get() noexcept {
  static worker* instance = nullptr;
  if (instance == nullptr) {
    const auto* options = static_cast<main_options*>(
        ngx_http_cycle_get_module_main_conf(ngx_cycle, ngx_http_brio_module));
    if (options == nullptr) return nullptr;  // no http block: nobody asks
    void* place = ngx_alloc(sizeof(worker), ngx_cycle->log);
    if (place != nullptr) instance = new (place) worker(*options);
  }
  return instance;
}

worker::worker(const main_options& o) noexcept
    : engine_({.slots = o.jobs == 0 ? usable_cpus() : static_cast<unsigned>(o.jobs),
               .memory_limit = static_cast<std::size_t>(o.memory_limit),
               .peers = &load_}) {
  idle_timer_.handler = on_timer;
  idle_timer_.data = this;
  idle_timer_.log = ngx_cycle->log;
  idle_timer_.cancelable = 1;
}

void worker::response_ended() noexcept {
  if (idle_timer_.timer_set) return;
  steps_seen_ = engine_.counters.steps;
  ngx_add_timer(&idle_timer_, idle_time);
}

void worker::on_timer(ngx_event_t* event) noexcept {
  auto* self = static_cast<worker*>(event->data);
  if (self->engine_.counters.steps == self->steps_seen_) {
    self->engine_.trim();
#if defined(__GLIBC__)
    ::malloc_trim(0);  // what many requests at once took, nginx's own memory for them included
#endif
  } else {
    self->response_ended();
  }
}

}  // namespace brio::nginx
