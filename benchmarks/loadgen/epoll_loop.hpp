// The event loop under the generator's coroutines, on epoll and one timerfd.
//
// It answers in completions ("these bytes were received"), not in readiness, so that a loop built on
// completions can stand in its place: what a connection asks of a loop is `sleep_until`, `run`, and a
// `socket` that connects, sends, receives, shuts down and resets.
//
// One thread. A socket serves one awaiting coroutine at a time. The loop owns neither sockets nor
// coroutines; a suspended coroutine may be destroyed only once `run` is not called again.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "descriptor.hpp"
#include "schedule.hpp"
#include "timers.hpp"

namespace brio::loadgen {

class epoll_loop {
 public:
  class socket;

  static constexpr std::string_view name = "epoll";

  epoll_loop() { watch(timerfd_.number(), nullptr); }

  /// Resumes the awaiting coroutine at `when`, or goes on at once if that is past.
  [[nodiscard]] auto sleep_until(clock::time_point when) noexcept {
    return timers_.sleep_until(when);
  }

  /// Serves events until `finished()` or the deadline, whichever is first.
  template <std::predicate Finished>
  void run(Finished finished, clock::time_point deadline) {
    while (!finished() && clock::now() < deadline) {
      arm(std::min(deadline, timers_.next()));
      std::array<epoll_event, 128> events;
      const auto count =
          ::epoll_wait(epoll_.number(), events.data(), static_cast<int>(events.size()), -1);
      if (count < 0 && errno != EINTR)
        throw std::system_error(errno, std::system_category(), "epoll_wait");
      for (int index = 0; index < count; ++index) {
        auto* operations = static_cast<pending*>(events[static_cast<std::size_t>(index)].data.ptr);
        if (operations != nullptr) operations->progress();
      }
      timers_.run_due();
    }
  }

 private:
  /// One system call that is tried again whenever the socket has news, until it has an answer.
  struct operation {
    virtual bool attempt() noexcept = 0;
    std::coroutine_handle<> waiting;

   protected:
    ~operation() = default;
  };

  /// What epoll's event points at: the operation, if any, that waits on one socket.
  struct pending {
    operation* current = nullptr;

    void progress() {
      if (current == nullptr || !current->attempt()) return;
      std::exchange(current, nullptr)->waiting.resume();
    }
  };

  void watch(int number, pending* operations) {
    epoll_event interest{};
    interest.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    interest.data.ptr = operations;
    if (::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, number, &interest) != 0)
      throw std::system_error(errno, std::system_category(), "epoll_ctl");
  }

  /// epoll_wait counts in milliseconds, too coarse for a start to the microsecond: hence the timerfd.
  void arm(clock::time_point when) noexcept {
    if (when == armed_) return;
    armed_ = when;
    const auto since_boot = std::max(when.time_since_epoch(), clock::duration{1});
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
    itimerspec setting{};
    setting.it_value.tv_sec = seconds.count();
    setting.it_value.tv_nsec = (since_boot - seconds).count();
    ::timerfd_settime(timerfd_.number(), TFD_TIMER_ABSTIME, &setting, nullptr);
  }

  descriptor epoll_{::epoll_create1(EPOLL_CLOEXEC), "epoll_create1"};
  descriptor timerfd_{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), "timerfd_create"};
  clock::time_point armed_{};
  timers timers_;
};

/// A TCP connection to be. Counts and errors come back as values: bytes moved, or -errno.
class epoll_loop::socket {
 public:
  /// `receive_buffer` bounds the kernel's receive buffer in bytes; zero leaves the system's.
  socket(epoll_loop& loop, int receive_buffer)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket") {
    const int on = 1;
    ::setsockopt(fd_.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (receive_buffer > 0)
      ::setsockopt(fd_.number(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    loop.watch(fd_.number(), &operations_);
  }

  socket(const socket&) = delete;
  socket& operator=(const socket&) = delete;

  /// Answers 0 or -errno.
  [[nodiscard]] auto connect(const sockaddr_in& address) noexcept {
    const auto* where = reinterpret_cast<const sockaddr*>(&address);
    const bool asked = ::connect(fd_.number(), where, sizeof address) == 0 || errno == EINPROGRESS;
    return completion{
        *this, [number = fd_.number(), refusal = asked ? 0 : errno]() noexcept -> std::ptrdiff_t {
          return refusal != 0 ? -refusal : connection_state(number);
        }};
  }

  /// Sends at least one byte; `bytes` must not be empty.
  [[nodiscard]] auto send(std::string_view bytes) noexcept {
    return completion{*this, [number = fd_.number(), bytes]() noexcept -> std::ptrdiff_t {
                        const auto sent = ::send(number, bytes.data(), bytes.size(), MSG_NOSIGNAL);
                        return sent < 0 ? -errno : sent;
                      }};
  }

  /// Receives at least one byte into `room`; 0 is the end of the stream.
  [[nodiscard]] auto receive(std::span<char> room) noexcept {
    return completion{*this, [number = fd_.number(), room]() noexcept -> std::ptrdiff_t {
                        const auto got = ::recv(number, room.data(), room.size(), 0);
                        return got < 0 ? -errno : got;
                      }};
  }

  /// Makes the operation that waits, and every later one, come to an end soon.
  void shutdown() noexcept { ::shutdown(fd_.number(), SHUT_RDWR); }

  /// Lets the socket close with a reset instead of an orderly end.
  void reset_on_close() noexcept {
    const linger at_once{1, 0};
    ::setsockopt(fd_.number(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }

 private:
  template <class Call>
  class completion final : private operation {
   public:
    completion(socket& owner, Call call) noexcept : owner_(owner), call_(std::move(call)) {}

    bool await_ready() noexcept { return attempt(); }
    void await_suspend(std::coroutine_handle<> awaiting) noexcept {
      waiting = awaiting;
      owner_.operations_.current = this;
    }
    std::ptrdiff_t await_resume() const noexcept { return result_; }

   private:
    bool attempt() noexcept override {
      result_ = call_();
      return result_ != -EAGAIN;
    }

    socket& owner_;
    Call call_;
    std::ptrdiff_t result_ = 0;
  };

  /// 0 when connected, -EAGAIN while that is open, -errno when it failed. (Calling connect again would
  /// begin anew on a socket that was shut down meanwhile.)
  static std::ptrdiff_t connection_state(int number) noexcept {
    int failure = 0;
    socklen_t size = sizeof failure;
    ::getsockopt(number, SOL_SOCKET, SO_ERROR, &failure, &size);
    if (failure != 0) return -failure;
    sockaddr_in peer{};
    size = sizeof peer;
    return ::getpeername(number, reinterpret_cast<sockaddr*>(&peer), &size) == 0 ? 0 : -EAGAIN;
  }

  descriptor fd_;
  pending operations_;
};

}  // namespace brio::loadgen
