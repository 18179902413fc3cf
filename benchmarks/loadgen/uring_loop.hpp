// The event loop under the generator's coroutines, on io_uring through liburing: the counterpart of
// epoll_loop.hpp, with the same members and the same answers.
//
// One thread. An operation lives in the frame of the coroutine that awaits it, and the kernel writes
// into that coroutine's buffers until it completes: so a suspended coroutine may be destroyed only once
// its operation has completed, which `shutdown` brings about.
#pragma once

#include <liburing.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
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

class uring_loop {
 public:
  class socket;

  static constexpr std::string_view name = "io_uring";

  /// Throws `std::system_error` where the kernel has no io_uring or forbids it.
  uring_loop() {
    const int answer = ::io_uring_queue_init(entries, &ring_, 0);
    if (answer < 0) throw std::system_error(-answer, std::system_category(), "io_uring_queue_init");
  }
  uring_loop(const uring_loop&) = delete;
  uring_loop& operator=(const uring_loop&) = delete;
  ~uring_loop() { ::io_uring_queue_exit(&ring_); }

  /// Resumes the awaiting coroutine at `when`, or goes on at once if that is past.
  [[nodiscard]] auto sleep_until(clock::time_point when) noexcept {
    return timers_.sleep_until(when);
  }

  /// Serves completions until `finished()` or the deadline, whichever is first.
  template <std::predicate Finished>
  void run(Finished finished, clock::time_point deadline) {
    while (!finished() && clock::now() < deadline) {
      submit_and_wait(std::min(deadline, timers_.next()));
      io_uring_cqe* entry = nullptr;
      while (::io_uring_peek_cqe(&ring_, &entry) == 0) {
        auto* ended = static_cast<operation*>(::io_uring_cqe_get_data(entry));
        ended->result = entry->res;
        ::io_uring_cqe_seen(&ring_, entry);
        ended->waiting.resume();
      }
      timers_.run_due();
    }
  }

 private:
  static constexpr unsigned entries = 1024;

  /// What a completion points at.
  struct operation {
    std::ptrdiff_t result = 0;
    std::coroutine_handle<> waiting;
  };

  void submit_and_wait(clock::time_point until) {
    constexpr clock::duration longest = std::chrono::hours{1};
    const auto left = std::clamp(until - clock::now(), clock::duration::zero(), longest);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    __kernel_timespec timeout{};
    timeout.tv_sec = seconds.count();
    timeout.tv_nsec = (left - seconds).count();
    io_uring_cqe* entry = nullptr;
    const int answer = ::io_uring_submit_and_wait_timeout(&ring_, &entry, 1, &timeout, nullptr);
    if (answer < 0 && answer != -ETIME && answer != -EINTR)
      throw std::system_error(-answer, std::system_category(), "io_uring_enter");
  }

  /// A free entry; a full queue is submitted first.
  [[nodiscard]] io_uring_sqe& entry() {
    for (;;) {
      if (io_uring_sqe* free = ::io_uring_get_sqe(&ring_)) return *free;
      const int answer = ::io_uring_submit(&ring_);
      if (answer < 0) throw std::system_error(-answer, std::system_category(), "io_uring_enter");
    }
  }

  io_uring ring_{};
  timers timers_;
};

/// A TCP connection to be. Counts and errors come back as values: bytes moved, or -errno.
class uring_loop::socket {
 public:
  /// `receive_buffer` bounds the kernel's receive buffer in bytes; zero leaves the system's.
  socket(uring_loop& loop, int receive_buffer)
      : loop_(loop), fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket") {
    const int on = 1;
    ::setsockopt(fd_.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (receive_buffer > 0)
      ::setsockopt(fd_.number(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  }

  socket(const socket&) = delete;
  socket& operator=(const socket&) = delete;

  /// Answers 0 or -errno. `address` must live until then.
  [[nodiscard]] auto connect(const sockaddr_in& address) noexcept {
    const auto* where = reinterpret_cast<const sockaddr*>(&address);
    return completion{loop_, [number = fd_.number(), where](io_uring_sqe& entry) noexcept {
                        ::io_uring_prep_connect(&entry, number, where, sizeof(sockaddr_in));
                      }};
  }

  /// Sends at least one byte; `bytes` must not be empty.
  [[nodiscard]] auto send(std::string_view bytes) noexcept {
    return completion{loop_, [number = fd_.number(), bytes](io_uring_sqe& entry) noexcept {
                        ::io_uring_prep_send(&entry, number, bytes.data(), bytes.size(),
                                             MSG_NOSIGNAL);
                      }};
  }

  /// Receives at least one byte into `room`; 0 is the end of the stream.
  [[nodiscard]] auto receive(std::span<char> room) noexcept {
    return completion{loop_, [number = fd_.number(), room](io_uring_sqe& entry) noexcept {
                        ::io_uring_prep_recv(&entry, number, room.data(), room.size(), 0);
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
  template <class Prepare>
  class completion final : private operation {
   public:
    completion(uring_loop& loop, Prepare prepare) noexcept
        : loop_(loop), prepare_(std::move(prepare)) {}

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> awaiting) {
      waiting = awaiting;
      io_uring_sqe& entry = loop_.entry();
      prepare_(entry);
      ::io_uring_sqe_set_data(&entry, static_cast<operation*>(this));
    }
    std::ptrdiff_t await_resume() const noexcept { return result; }

   private:
    uring_loop& loop_;
    Prepare prepare_;
  };

  uring_loop& loop_;
  descriptor fd_;
};

}  // namespace brio::loadgen
