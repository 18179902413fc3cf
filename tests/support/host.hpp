// A host as response.hpp describes it: it writes a body, takes the output, and between calls does
// nothing for the response until it is woken. One call to the response at a time, so that a test can
// stop after each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <brio/response.hpp>

#include "bytes.hpp"

namespace brio::test {

struct habits {
  /// The most bytes of one write().
  std::size_t write_size = std::numeric_limits<std::size_t>::max();
  /// Calls flush() after this many bytes of the body, in ascending order.
  std::vector<std::size_t> flush_at{};
  /// Writes on only when the chunk that says flush() has come.
  bool waits_for_flush = false;
  /// Keeps chunks until send(), as for a slow client.
  bool keeps_chunks = false;
  /// Bytes of the body that are there from the start; arrive() brings more.
  std::size_t arrived = std::numeric_limits<std::size_t>::max();
  /// Calls finish() after the body.
  bool finishes = true;
};

template <encoder Encoder>
class host {
 public:
  host(engine& shared, executor_ref executor, std::span<const std::byte> body,
       const response_options<Encoder>& o, habits h = {})
      : habits_(std::move(h)),
        left_(body),
        arrived_(std::min(habits_.arrived, body.size())),
        response_(response<Encoder>::create(shared, executor, {wake, this}, o, &refusal_)) {}
  host(const host&) = delete;
  host& operator=(const host&) = delete;

  /// Makes one call that does something; false when there is none until the next wake.
  bool step() {
    if (over()) return false;
    const inside_call guard(*this);
    ready_ = false;
    if (take() || feed()) ready_ = true;
    return ready_;
  }

  /// Everything that can be done now.
  void pump() {
    while (step()) {
    }
  }

  /// Drops the oldest chunk kept, after which the response wants another look.
  void send() {
    kept_.erase(kept_.begin());
    ready_ = true;
  }
  void send_all() {
    kept_.clear();
    ready_ = true;
  }

  /// More of the body is there, after which the response wants another look.
  void arrive(std::size_t size) {
    arrived_ += std::min(size, written_ + left_.size() - arrived_);
    ready_ = true;
  }

  /// Drops the response, as for a client that is gone.
  void drop() { response_ = {}; }

  /// There is nothing more to do for this response.
  [[nodiscard]] bool over() const {
    return !response_ || response_.failure() != error::none || response_.complete();
  }
  [[nodiscard]] bool complete() const { return response_ && response_.complete(); }
  /// Why the response has failed, or why there was none.
  [[nodiscard]] error failure() const { return response_ ? response_.failure() : refusal_; }

  /// Another look may find something to do: it was woken, or the last one did.
  [[nodiscard]] bool ready() const { return ready_ && !over(); }
  /// Wakes that came while a call to this response was under way, but for a write() that took nothing:
  /// there must be none.
  [[nodiscard]] unsigned wakes_inside_calls() const { return wakes_inside_calls_; }
  [[nodiscard]] std::size_t kept() const { return kept_.size(); }
  [[nodiscard]] std::size_t left() const { return left_.size(); }
  /// Everything that has arrived is written, and there is more to come.
  [[nodiscard]] bool waits_for_upstream() const {
    return !awaiting_flush_ && !left_.empty() && written_ == arrived_;
  }

  [[nodiscard]] const bytes& output() const { return output_; }
  /// Where in the output the chunks that said flush() ended.
  [[nodiscard]] const std::vector<std::size_t>& flush_marks() const { return flush_marks_; }

  response<Encoder>& body() { return response_; }

 private:
  class inside_call {
   public:
    explicit inside_call(host& owner) : owner_(owner) { owner_.inside_ = true; }
    ~inside_call() { owner_.inside_ = false; }
    inside_call(const inside_call&) = delete;
    inside_call& operator=(const inside_call&) = delete;

   private:
    host& owner_;
  };

  static void wake(void* self) noexcept {
    host& woken = *static_cast<host*>(self);
    woken.ready_ = true;
    if (woken.inside_) ++woken.wakes_inside_calls_;
  }

  bool take() {
    chunk c = response_.take();
    if (!c) return false;
    output_.insert(output_.end(), c.bytes().begin(), c.bytes().end());
    if (c.flush()) {
      flush_marks_.push_back(output_.size());
      awaiting_flush_ = false;
    }
    if (habits_.keeps_chunks) kept_.push_back(std::move(c));
    return true;
  }

  bool feed() {
    if (finished_ || awaiting_flush_) return false;
    if (flushes_ < habits_.flush_at.size() && habits_.flush_at[flushes_] <= written_) {
      ++flushes_;
      awaiting_flush_ = habits_.waits_for_flush;
      response_.flush();
      return true;
    }
    if (left_.empty()) {
      if (!habits_.finishes) return false;
      finished_ = true;
      response_.finish();
      return true;
    }
    std::size_t part = std::min(arrived_ - written_, habits_.write_size);
    if (flushes_ < habits_.flush_at.size()) {
      part = std::min(part, habits_.flush_at[flushes_] - written_);
    }
    inside_ = false;
    const std::size_t taken = response_.write(left_.first(part));
    if (ready_ && taken > 0) ++wakes_inside_calls_;
    left_ = left_.subspan(taken);
    written_ += taken;
    return taken > 0;
  }

  const habits habits_;
  std::span<const std::byte> left_;
  std::size_t arrived_;
  std::size_t written_ = 0;
  std::size_t flushes_ = 0;
  bool awaiting_flush_ = false;
  bool finished_ = false;

  bytes output_;
  std::vector<std::size_t> flush_marks_;

  bool inside_ = false;
  bool ready_ = true;
  unsigned wakes_inside_calls_ = 0;

  error refusal_ = error::none;
  response<Encoder> response_;
  std::vector<chunk> kept_;  // may outlive the response
};

}  // namespace brio::test
