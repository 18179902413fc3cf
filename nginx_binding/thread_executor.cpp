#include "thread_executor.hpp"

#include <algorithm>
#include <new>

namespace brio::nginx {

submission thread_executor::submit(job& j) noexcept {
  if (pause_ != 0 && ngx_current_msec - refused_at_ < pause_) return submission::refused;
  carrier* c = take_carrier();
  if (c == nullptr) return submission::refused;
  c->load = &j;
  c->done.store(false, std::memory_order_relaxed);
  if (ngx_thread_task_post(pool_, &c->task) == NGX_OK) {
    pause_ = 0;
    return submission::accepted;
  }
  c->next = unused_;
  unused_ = c;
  refused_at_ = ngx_current_msec;
  pause_ = std::clamp(pause_ * 2, shortest_pause, longest_pause);
  return submission::refused;
}

thread_executor::carrier* thread_executor::take_carrier() noexcept {
  if (unused_ != nullptr) {
    carrier* c = unused_;
    unused_ = c->next;
    return c;
  }
  void* place = ngx_calloc(sizeof(carrier), ngx_cycle->log);
  if (place == nullptr) return nullptr;
  auto* c = new (place) carrier{};
  c->home = this;
  c->task.ctx = c;
  c->task.handler = run;
  c->task.event.data = c;
  c->task.event.handler = complete;
  c->task.event.log = ngx_cycle->log;
  return c;
}

void thread_executor::run(void* data, ngx_log_t*) noexcept {
  auto* c = static_cast<carrier*>(data);
  c->load->run();
  c->done.store(true, std::memory_order_release);
}

void thread_executor::complete(ngx_event_t* event) noexcept {
  auto* c = static_cast<carrier*>(event->data);
  (void)c->done.load(std::memory_order_acquire);
  job* load = c->load;
  thread_executor* home = c->home;
  c->next = home->unused_;
  home->unused_ = c;
  home->pause_ = 0;
  load->complete();
}

}  // namespace brio::nginx
