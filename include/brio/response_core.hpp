// The part of a response that its segments and its output chunks see: what they share with the host,
// what they count, and when it all may go.
//
// A core lives as long as anything needs it: the host's response object, a step that is running, or
// a chunk of output that the host has not sent yet. So a host may drop a response at any time; what a
// worker can see stays until the worker is done. Loop's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <brio/async/executor.hpp>
#include <brio/async/run_queue.hpp>
#include <brio/engine.hpp>
#include <brio/error.hpp>
#include <brio/faults.hpp>

namespace brio {

/// How a response tells its host that it is worth another look: take() may give output, write() may
/// take input, or the response has failed. Called on the loop, and while the host is inside a call to
/// that same response only from a write() that takes nothing; the host should only make a note (post
/// an event, put a connection on a list) and come back later.
struct waker {
  void (*wake)(void* host) noexcept = nullptr;
  void* host = nullptr;
};

class response_core : public runnable {
 public:
  response_core(engine& shared, executor_ref executor, waker host, std::size_t output_limit,
                fault_link faults) noexcept
      : shared_(shared),
        executor_(executor),
        host_(host),
        output_limit_(output_limit),
        faults_(std::move(faults)) {}
  response_core(const response_core&) = delete;
  response_core& operator=(const response_core&) = delete;

  [[nodiscard]] engine& shared() noexcept { return shared_; }
  [[nodiscard]] executor_ref executor() const noexcept { return executor_; }
  [[nodiscard]] const fault_link& faults() const noexcept { return faults_; }
  /// Output not yet sent at which compressing pauses: nearly none while memory is short.
  [[nodiscard]] std::size_t output_limit() const noexcept {
    return shared_.over_limit() ? 1 : output_limit_;
  }

  /// Bytes in chunks that the host holds.
  [[nodiscard]] std::size_t unsent() const noexcept { return unsent_; }
  /// Steps that a worker has now.
  [[nodiscard]] unsigned in_flight() const noexcept { return in_flight_; }
  [[nodiscard]] error failure() const noexcept { return failure_; }
  [[nodiscard]] bool stopped() const noexcept { return failure_ != error::none; }

  /// Some encoder of this response has started.
  [[nodiscard]] bool begun() const noexcept { return begun_; }
  void set_begun() noexcept { begun_ = true; }

  /// Something happened that the host may want to see.
  void touch() noexcept { shared_.queue.post(*this); }

  /// Ends the response; the first reason wins.
  void fail(error reason) noexcept {
    if (stopped()) return;
    failure_ = reason;
    touch();
  }

  /// A step is with a worker for as long as this lives; `flying` is true for as long.
  class [[nodiscard]] flight_guard {
   public:
    flight_guard(response_core& core, bool& flying) noexcept : core_(core), flying_(flying) {
      ++core_.in_flight_;
      flying_ = true;
    }
    ~flight_guard() {
      --core_.in_flight_;
      flying_ = false;
      core_.touch();
    }
    flight_guard(const flight_guard&) = delete;
    flight_guard& operator=(const flight_guard&) = delete;

   private:
    response_core& core_;
    bool& flying_;
  };

  /// The host has been given a chunk of `bytes`, and has dropped it again. The second may be the last
  /// thing that happens to the core.
  void chunk_taken(std::size_t bytes) noexcept {
    unsent_ += bytes;
    ++chunks_;
  }
  void chunk_dropped(std::size_t bytes) noexcept {
    unsent_ -= bytes;
    --chunks_;
    end_if_unused();
  }

  /// The host is inside a call to this response, and sees for itself what comes of it. The outermost
  /// of these runs the queue on its way out.
  class [[nodiscard]] call_guard {
   public:
    explicit call_guard(response_core& core) noexcept : core_(core), faults_(core.faults_) {
      ++core_.calls_;
    }
    ~call_guard() {
      core_.shared_.queue.run();
      --core_.calls_;
    }
    call_guard(const call_guard&) = delete;
    call_guard& operator=(const call_guard&) = delete;

   private:
    response_core& core_;
    fault_scope faults_;
  };

  /// The host will do something else now: wakes it if what is due still brings anything.
  void settle() noexcept {
    touched_ = false;
    shared_.queue.run();
    if (touched_) host_.wake(host_.host);
  }

  /// The host drops the response: no more calls to it.
  void detach() noexcept {
    attached_ = false;
    end_if_unused();
  }

 protected:
  virtual ~response_core() = default;

 private:
  void run() noexcept final {
    if (!attached_) {
      end_if_unused();
    } else if (calls_ == 0) {
      host_.wake(host_.host);
    } else {
      touched_ = true;
    }
  }

  void end_if_unused() noexcept {
    if (!attached_ && in_flight_ == 0 && chunks_ == 0) destroy();
  }
  virtual void destroy() noexcept = 0;

  engine& shared_;
  executor_ref executor_;
  waker host_;
  std::size_t output_limit_;
  std::size_t unsent_ = 0;
  unsigned in_flight_ = 0;
  unsigned chunks_ = 0;
  unsigned calls_ = 0;
  error failure_ = error::none;
  bool begun_ = false;
  bool attached_ = true;
  bool touched_ = false;  // during a call
  fault_link faults_;
};

}  // namespace brio
