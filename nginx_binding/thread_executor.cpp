#include "thread_executor.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <new>

namespace brio::nginx {
namespace {

/// With worker_priority below zero the event loop is to win the CPU, but threads inherit that. So a
/// thread puts itself back to normal, which takes no privilege; never below, so that a pool shared
/// with file I/O is not worse off than without. On Linux this is a thread's own value.
void return_to_normal_priority() noexcept {
  thread_local bool done = false;
  if (done) return;
  done = true;
  if (getpriority(PRIO_PROCESS, 0) < 0) setpriority(PRIO_PROCESS, 0, 0);
}

}  // namespace

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
  return_to_normal_priority();
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
