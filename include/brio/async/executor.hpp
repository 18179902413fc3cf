// The executor: what a host supplies so that work happens off its event loop.
//
// An executor takes a job or refuses it, never half. A job it took runs once, on a thread of the
// executor's choice, and is then completed once, on the loop. Between submit() and complete() the
// executor alone touches the job; it must make what run() wrote visible to the loop (any mutex,
// queue or release/acquire pair that hands the job back does). The host may not destroy an executor
// while it holds jobs.
//
//   offload(executor, queue, f)   awaitable: runs f somewhere else, then resumes the awaiting
//                                 coroutine on the loop; false when the executor refused
#pragma once

#include <concepts>
#include <coroutine>
#include <type_traits>

#include <brio/async/run_queue.hpp>

namespace brio {

/// One piece of work on its way through an executor.
class job : public list_hook {
 public:
  virtual void run() noexcept = 0;  ///< the work; any thread
  virtual void
  complete() noexcept = 0;  ///< called after run(), on the loop; may end the job's life

 protected:
  ~job() = default;
};

/// How a job was received.
enum class submission {
  accepted,  ///< it runs, and is completed later on the loop
  refused,   ///< nothing happened; the caller keeps the job and may submit it again
  ran,       ///< it has run before submit() returned and is not completed
};

template <class E>
concept executor = requires(E& e, const E& c, job& j) {
  /// On the loop. Must not call j.complete() before it returns.
  { e.submit(j) } noexcept -> std::same_as<submission>;
  /// True when submit() runs the job itself: such work waits for no slot.
  { c.runs_inline() } noexcept -> std::same_as<bool>;
};

/// A reference to any executor. The executor must outlive it.
class executor_ref {
 public:
  template <executor E>
    requires(!std::same_as<E, executor_ref>)
  executor_ref(E& e) noexcept
      : self_(&e),
        submit_([](void* self, job& j) noexcept { return static_cast<E*>(self)->submit(j); }),
        runs_inline_(
            [](const void* self) noexcept { return static_cast<const E*>(self)->runs_inline(); }) {}

  [[nodiscard]] submission submit(job& j) noexcept { return submit_(self_, j); }
  [[nodiscard]] bool runs_inline() const noexcept { return runs_inline_(self_); }

 private:
  void* self_;
  submission (*submit_)(void*, job&) noexcept;
  bool (*runs_inline_)(const void*) noexcept;
};

/// The awaitable of offload().
template <class F>
class [[nodiscard("co_await it")]] offload_awaiter final : job {
 public:
  offload_awaiter(executor_ref executor, run_queue& queue, F& work) noexcept
      : executor_(executor), queue_(&queue), work_(&work) {}

  [[nodiscard]] bool await_ready() const noexcept { return false; }

  bool await_suspend(std::coroutine_handle<> awaiting) noexcept {
    turn_.set_handle(awaiting);
    const submission answer = executor_.submit(*this);
    if (answer == submission::accepted) return true;
    refused_ = answer == submission::refused;
    return false;
  }

  /// False when the executor refused and the work was not done.
  [[nodiscard]] bool await_resume() const noexcept { return !refused_; }

 private:
  struct turn final : suspended {};

  void run() noexcept override { (*work_)(); }
  void complete() noexcept override {
    run_queue& queue = *queue_;
    queue.post(turn_);
    queue.run();
  }

  executor_ref executor_;
  run_queue* queue_;
  F* work_;
  turn turn_;
  bool refused_ = false;
};

/// Runs `work` through `executor` and resumes on the loop through `queue`. `work` must live until
/// then and must not throw.
template <class F>
  requires std::is_nothrow_invocable_v<F&>
[[nodiscard]] offload_awaiter<F> offload(executor_ref executor, run_queue& queue,
                                         F& work) noexcept {
  return {executor, queue, work};
}

}  // namespace brio
