// A lazy coroutine: task<T>.
//
// A task runs when it is first resumed: by the coroutine that awaits it, or by the owner of the
// outermost one through start(). The frame belongs to the task object; destroying the object
// destroys a suspended frame and, with it, everything the coroutine holds. That is how brio cancels:
// destroy the task, and destructors give back slots, memory and places in queues.
//
// Control moves between tasks by symmetric transfer. A task knows nothing of threads: it is resumed,
// and must be destroyed, on the loop's thread.
//
// An exception that leaves the coroutine is kept and thrown again to whoever asks for the result.
// When there is no memory for the frame the coroutine function returns an empty task (test it with
// `if (!t)`), so starting a coroutine never throws.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <utility>
#include <variant>

#include <brio/memory.hpp>

namespace brio {

template <class T = void>
class task;

namespace detail {

class task_promise_base {
 public:
  static void* operator new(std::size_t size) noexcept { return allocate_memory(size); }
  static void operator delete(void* frame, std::size_t size) noexcept { free_memory(frame, size); }

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }

  struct final_awaiter {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      return self.promise().continuation_;
    }
    void await_resume() const noexcept {}
  };
  [[nodiscard]] final_awaiter final_suspend() const noexcept { return {}; }

  void set_continuation(std::coroutine_handle<> awaiting) noexcept { continuation_ = awaiting; }

 private:
  std::coroutine_handle<> continuation_ = std::noop_coroutine();
};

template <class T>
class task_promise : public task_promise_base {
 public:
  task<T> get_return_object() noexcept;
  static task<T> get_return_object_on_allocation_failure() noexcept;

  template <class U>
  void return_value(U&& value) {
    outcome_.template emplace<1>(std::forward<U>(value));
  }
  void unhandled_exception() noexcept { outcome_.template emplace<2>(std::current_exception()); }

  T result() {
    if (outcome_.index() == 2) std::rethrow_exception(std::get<2>(outcome_));
    return std::move(std::get<1>(outcome_));
  }

 private:
  std::variant<std::monostate, T, std::exception_ptr> outcome_;
};

template <>
class task_promise<void> : public task_promise_base {
 public:
  task<void> get_return_object() noexcept;
  static task<void> get_return_object_on_allocation_failure() noexcept;

  void return_void() const noexcept {}
  void unhandled_exception() noexcept { failure_ = std::current_exception(); }

  void result() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::exception_ptr failure_;
};

}  // namespace detail

template <class T>
class [[nodiscard("a task that is neither awaited nor started never runs")]] task {
 public:
  using promise_type = detail::task_promise<T>;

  task() noexcept = default;
  task(task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  task& operator=(task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~task() {
    if (handle_) handle_.destroy();
  }

  /// False for an empty task: moved from, or no memory for the frame.
  explicit operator bool() const noexcept { return static_cast<bool>(handle_); }

  /// True once the coroutine has run to its end.
  [[nodiscard]] bool done() const noexcept { return handle_ && handle_.done(); }

  /// Runs an outermost task up to its first suspension. Once, and never on an empty task.
  void start() const { handle_.resume(); }

  /// What a finished task returned, or throws what it threw.
  decltype(auto) result() const { return handle_.promise().result(); }

  /// Awaiting runs the task and gives its result. The task must not be empty.
  auto operator co_await() const& noexcept { return awaiter{handle_}; }

 private:
  friend promise_type;
  using handle_type = std::coroutine_handle<promise_type>;

  struct awaiter {
    handle_type callee;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) const noexcept {
      callee.promise().set_continuation(awaiting);
      return callee;
    }
    decltype(auto) await_resume() const { return callee.promise().result(); }
  };

  explicit task(handle_type handle) noexcept : handle_(handle) {}

  handle_type handle_;
};

namespace detail {

template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
  return task<T>{std::coroutine_handle<task_promise>::from_promise(*this)};
}
template <class T>
task<T> task_promise<T>::get_return_object_on_allocation_failure() noexcept {
  return {};
}
inline task<void> task_promise<void>::get_return_object() noexcept {
  return task<void>{std::coroutine_handle<task_promise>::from_promise(*this)};
}
inline task<void> task_promise<void>::get_return_object_on_allocation_failure() noexcept {
  return {};
}

}  // namespace detail

}  // namespace brio
