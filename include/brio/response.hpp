// A response: one body on its way through the compressor. This is what a host works with.
//
//   auto body = response<brotli::encoder>::create(engine, executor, {wake, me}, options);
//   n = body.write(bytes);     takes what the bounds allow, and compresses behind your back
//   body.flush();              what was written so far must become decodable
//   body.finish();             that was all
//   while (chunk c = body.take()) send(std::move(c));    in order, as it comes
//
// After each call look at take(). When there is no more to take and write() then returns 0, do
// something else: the waker tells when it is worth another look. Drop a chunk when its bytes are sent
// and call take() again; the compressor waits while too many bytes are unsent.
//
// Bounds: a response takes one step of input before its encoder starts (a step is 64 or 256 KiB) and
// four ahead of it then. Where it is cut in parts that run side by side it takes all of those that are
// not the last. Output not sent stays below `output_limit` for each part, give or take that of a step.
//
// A response is whole or visibly broken: after failure() there is no more output, and what was given
// out before is not a complete stream. The host must then end its connection in a way that shows.
//
// Responses may be dropped at any time. A step that is running with a worker ends by itself; nothing
// of the response is started after that, and its memory goes when the step has come back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include <brio/async/executor.hpp>
#include <brio/blocks.hpp>
#include <brio/encoder.hpp>
#include <brio/engine.hpp>
#include <brio/error.hpp>
#include <brio/memory.hpp>
#include <brio/planner.hpp>
#include <brio/response_core.hpp>
#include <brio/segment.hpp>

namespace brio {

/// A piece of output, empty when there was none. It gives its memory back when it dies, and lets the
/// compressor go on at the next take(). It may outlive its response, but not the engine.
class [[nodiscard]] chunk {
 public:
  chunk() noexcept = default;
  chunk(response_core& core, block_handle block) noexcept : core_(&core), block_(std::move(block)) {
    core_->chunk_taken(block_->size());
  }
  chunk(chunk&& other) noexcept
      : core_(std::exchange(other.core_, nullptr)), block_(std::move(other.block_)) {}
  chunk& operator=(chunk&& other) noexcept {
    std::swap(core_, other.core_);
    std::swap(block_, other.block_);
    return *this;
  }
  ~chunk() {
    if (core_ == nullptr) return;
    const std::size_t size = block_->size();
    block_.reset();
    core_->chunk_dropped(size);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return core_ != nullptr; }
  /// The bytes; none in a chunk that only carries a mark.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return block_->bytes(); }
  /// Everything written before a flush() is decodable once this chunk has arrived.
  [[nodiscard]] bool flush() const noexcept { return block_->flush; }
  /// The stream is complete once this chunk has arrived.
  [[nodiscard]] bool last() const noexcept { return block_->last; }

 private:
  response_core* core_ = nullptr;
  block_handle block_;
};

template <encoder Encoder>
struct response_options {
  typename Encoder::options encoding{};
  /// Length of the input in bytes, where it is known.
  std::optional<std::uint64_t> length{};
  cut_limits cuts{};
  /// Output not yet sent at which compressing pauses, in bytes, from 1.
  std::size_t output_limit = std::size_t{256} * 1024;
  fault_link faults{};
};

template <encoder Encoder>
class [[nodiscard]] response {
 public:
  using options = response_options<Encoder>;

  /// An empty response: only assignment and the test for emptiness are allowed on it.
  response() noexcept = default;

  /// A new response, or an empty one; `why` then says whether there is no memory or the engine's limit
  /// is reached, and the host should send the body as it is. The engine and the executor must outlive
  /// the response and every step it has started.
  static response create(engine& shared, executor_ref executor, waker host, const options& o,
                         error* why = nullptr) noexcept {
    const std::uint64_t step = Encoder::step_size(o.encoding);
    const auto input = static_cast<std::size_t>(std::min(step, o.length.value_or(step)));
    reservation promised = shared.memory_budget.reserve(
        input + in_transit,
        Encoder::memory(o.encoding, o.length.value_or(std::numeric_limits<std::uint64_t>::max())));
    shared.queue.run();  // encoders may have been asked back for it
    const fault_scope scope(o.faults);
    void* place = promised ? allocate_memory(sizeof(state)) : nullptr;
    if (place == nullptr) {
      if (why != nullptr) *why = promised ? error::out_of_memory : error::over_limit;
      return {};
    }
    return response{new (place) state(shared, executor, host, o, std::move(promised))};
  }

  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

  /// Takes bytes from the front of `bytes` and returns how many: 0 at the bound or after a failure.
  /// Not after finish().
  [[nodiscard]] std::size_t write(std::span<const std::byte> bytes) noexcept {
    const response_core::call_guard call(*state_);
    const std::size_t taken = state_->write(bytes);
    if (taken == 0) state_->settle();
    return taken;
  }

  /// Asks for everything written so far to become decodable. A chunk that says flush() follows.
  void flush() noexcept {
    const response_core::call_guard call(*state_);
    state_->flush();
  }

  /// Says that all input has been written. A chunk that says last() follows.
  void finish() noexcept {
    const response_core::call_guard call(*state_);
    state_->finish();
  }

  /// The next chunk of output, empty when there is none now.
  [[nodiscard]] chunk take() noexcept {
    const response_core::call_guard call(*state_);
    return state_->take();
  }

  /// Gives the response up: nothing of it starts any more, and failure() is error::cancelled unless
  /// it had failed before.
  void cancel() noexcept {
    const response_core::call_guard call(*state_);
    state_->cancel();
  }

  /// Why the response has ended early, or error::none.
  [[nodiscard]] error failure() const noexcept { return state_->failure(); }
  /// True once the chunk that says last() has been taken.
  [[nodiscard]] bool complete() const noexcept { return state_->complete(); }
  /// True while bytes have been written that have not come out of take() yet, or a mark has not.
  [[nodiscard]] bool pending() noexcept { return state_->pending(); }
  /// Steps that workers have now.
  [[nodiscard]] unsigned in_flight() const noexcept { return state_->in_flight(); }
  /// Bytes in chunks taken and not yet dropped.
  [[nodiscard]] std::size_t unsent() const noexcept { return state_->unsent(); }
  /// Bytes written, and bytes taken.
  [[nodiscard]] std::uint64_t bytes_in() const noexcept { return state_->bytes_in(); }
  [[nodiscard]] std::uint64_t bytes_out() const noexcept { return state_->bytes_out(); }

 private:
  /// Room set aside for a response beside its input: output that it has not sent yet, mostly.
  static constexpr std::size_t in_transit = std::size_t{128} * 1024;

  class state;
  struct drop {
    void operator()(state* s) const noexcept {
      run_queue& queue = s->shared().queue;
      s->cancel();
      s->detach();
      queue.run();  // slots given back may be wanted
    }
  };

  explicit response(state* s) noexcept : state_(s) {}

  std::unique_ptr<state, drop> state_;
};

/// Cuts the input into segments and delivers their output in the order of the segments.
template <encoder Encoder>
class response<Encoder>::state final : public response_core {
 public:
  state(engine& shared, executor_ref executor, waker host, const options& o,
        reservation promised) noexcept
      : response_core(shared, executor, host, o.output_limit, o.faults),
        options_(o),
        promised_(std::move(promised)) {}

  std::size_t write(std::span<const std::byte> bytes) noexcept {
    std::size_t taken = 0;
    while (taken < bytes.size() && !stopped()) {
      piece* last = to_fill();
      if (last == nullptr) break;
      const std::size_t part = std::min(bytes.size() - taken, room(*last));
      if (part == 0) break;
      last->append(bytes.subspan(taken, part));
      last->kick();
      taken += part;
      bytes_in_ += part;
    }
    return stopped() ? 0 : taken;
  }

  void flush() noexcept {
    piece* last = segments_.empty() ? open() : &segments_.back();
    if (last == nullptr || stopped()) return;
    last->flush();
    last->kick();
  }

  void finish() noexcept {
    piece* last = filling() ? &segments_.back() : open();
    if (last == nullptr || stopped()) return;
    last->end(operation::finish);
    last->kick();
  }

  chunk take() noexcept {
    while (!segments_.empty() && !stopped()) {
      piece& front = segments_.front();
      front.deliver();
      block_handle block = front.take();
      if (!block) {
        front.kick();  // what was sent since may have made room
        shared().queue.run();
        if (stopped()) break;
        block = front.take();
      }
      if (block) {
        bytes_out_ += block->size();
        complete_ = block->last;
        return {*this, std::move(block)};
      }
      if (!front.done()) break;
      close(front);
    }
    return {};
  }

  void cancel() noexcept {
    fail(error::cancelled);
    for (piece* s = first(); s != nullptr; s = segments_.after(*s)) s->cancel();
  }

  [[nodiscard]] bool complete() const noexcept { return complete_; }
  [[nodiscard]] std::uint64_t bytes_in() const noexcept { return bytes_in_; }
  [[nodiscard]] std::uint64_t bytes_out() const noexcept { return bytes_out_; }

  [[nodiscard]] bool pending() noexcept {
    for (piece* s = first(); s != nullptr; s = segments_.after(*s)) {
      if (!s->at_rest()) return true;
    }
    return false;
  }

 private:
  using piece = segment<Encoder>;

  /// Input taken ahead, in bytes: until the encoder starts what decides the first step; then enough
  /// that it has work when the loop is late by some.
  [[nodiscard]] std::uint64_t input_ahead() const noexcept {
    const std::size_t step = Encoder::step_size(options_.encoding);
    return begun() ? 4 * step : step + 1;
  }

  ~state() override {
    while (!segments_.empty()) close(segments_.front());
  }

  void destroy() noexcept override {
    this->~state();
    free_memory(this, sizeof(state));
  }

  [[nodiscard]] piece* first() noexcept { return segments_.empty() ? nullptr : &segments_.front(); }

  /// The segment that the next byte belongs to, or nullptr when it must wait, or after a failure.
  [[nodiscard]] piece* to_fill() noexcept {
    if (filling()) {
      piece& last = segments_.back();
      if (!ends_here(last)) return &last;
      ++index_;
      last.end(operation::flush);
      last.kick();
    }
    return live_ < together() ? open() : nullptr;
  }

  /// The last segment may get more.
  [[nodiscard]] bool filling() noexcept { return !segments_.empty() && !segments_.back().ended(); }

  [[nodiscard]] bool ends_here(const piece& last) noexcept {
    if (options_.length) return index_ + 1 < plan_.parts && bytes_in_ == plan_.end(index_);
    return cut_here(last.accepted(), last.backlog(), options_.cuts, live_, idle());
  }

  /// How many segments may be under way at a time.
  [[nodiscard]] std::uint64_t together() const noexcept {
    return options_.length ? plan_.together : options_.cuts.tasks;
  }

  [[nodiscard]] piece* open() noexcept {
    std::optional<std::uint64_t> expected;
    if (options_.length) {
      if (bytes_in_ == 0) plan_ = plan_cuts(*options_.length, options_.cuts, idle());
      expected = plan_.end(index_) - std::min(plan_.end(index_), bytes_in_);
    } else if (options_.cuts.fixed) {
      expected = options_.cuts.segment_size;
    }
    void* place = allocate_memory(sizeof(piece));
    if (place == nullptr) {
      fail(error::out_of_memory);
      return nullptr;
    }
    const segment_start start{bytes_in_, options_.length, 0};
    auto* opened = new (place) piece(*this, options_.encoding, start, expected);
    segments_.push_back(*opened);
    ++live_;
    return opened;
  }

  void close(piece& s) noexcept {
    --live_;
    s.~piece();
    free_memory(&s, sizeof(piece));
  }

  /// Slots that this response could use; work on the loop itself is one after another.
  [[nodiscard]] unsigned idle() noexcept {
    return executor().runs_inline() || shared().over_limit() ? 0 : shared().jobs.idle();
  }

  /// Input that `last`, the last segment, takes now.
  [[nodiscard]] std::size_t room(const piece& last) noexcept {
    std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t ahead = input_ahead();
    if (options_.length && index_ + 1 < plan_.parts) {
      most = plan_.end(index_) - bytes_in_;
      if (plan_.together > 1) return static_cast<std::size_t>(most);
    } else if (!options_.length && options_.cuts.fixed) {
      most = options_.cuts.segment_size - last.accepted();
    } else if (!options_.length && options_.cuts.tasks > 1 && idle() > 0) {
      ahead = std::max(ahead, options_.cuts.segment_size);
    }
    return static_cast<std::size_t>(
        std::min(most, ahead - std::min<std::uint64_t>(ahead, last.backlog())));
  }

  const options options_;
  const reservation promised_;
  cut_plan plan_;
  std::uint64_t index_ = 0;
  std::uint64_t bytes_in_ = 0;
  std::uint64_t bytes_out_ = 0;
  bool complete_ = false;
  intrusive_list<piece> segments_;  // in order; the first one delivers, the last one fills
  unsigned live_ = 0;               // how many those are
};

}  // namespace brio
