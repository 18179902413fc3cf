// A segment: one run of a response's input through one encoder.
//
// The heart of it is a coroutine, run(), which for each step waits until the input is decided and the
// output has room, waits for a slot, has the step run elsewhere, and takes in what came of it. Input
// arrives and output leaves on the loop while it waits.
//
// Memory follows work: the encoder is made when the first step has its slot, and gone after the last.
// Everything here is the loop's thread's, except `work`, which a worker has during a step; only the
// flush mark of its input stays the loop's.
#pragma once

#include <algorithm>
#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <brio/async/executor.hpp>
#include <brio/async/intrusive_list.hpp>
#include <brio/async/run_queue.hpp>
#include <brio/async/task.hpp>
#include <brio/blocks.hpp>
#include <brio/encoder.hpp>
#include <brio/limiter.hpp>
#include <brio/response_core.hpp>
#include <brio/segment_input.hpp>

namespace brio {

// Estimates of the encoder's, in microseconds, from which the rank of a step follows.

/// Work that takes no longer than this is brief to the limiter.
inline constexpr std::uint64_t brief_work = 5000;
/// A step that may take more than this is dear; work that takes less is better done on the loop than to
/// wait for dear steps to end.
inline constexpr std::uint64_t dear_work = 1000;

/// A response that gets at least this many steps is flushed after the first one, where the encoder says
/// that it is cheap: encoders keep their output back for a mebibyte or so, and a client need not wait.
inline constexpr std::uint64_t long_response = 16;

template <encoder Encoder>
class segment : public list_hook {
 public:
  using options = typename Encoder::options;

  /// `expected`: the input bytes that this segment is planned to get, where it is planned. What the
  /// encoder is told then does not depend on what has arrived.
  segment(response_core& core, const options& encoding, const segment_start& start,
          std::optional<std::uint64_t> expected) noexcept
      : core_(core),
        encoding_(encoding),
        start_(start),
        input_(core.shared().blocks, Encoder::step_size(encoding), expected) {}

  /// Adds input. Fails the response when there is no memory, as all that follows does.
  void append(std::span<const std::byte> bytes) noexcept {
    if (!input_.append(bytes)) core_.fail(error::out_of_memory);
  }

  /// Makes everything added so far decodable; with nothing new, an empty chunk says so in its turn.
  void flush() noexcept {
    if (input_.flush()) return;
    if (working()) {
      work_.input->flush = true;  // a step with nothing behind it flushes or ends anyway
    } else if (add_empty_output()) {
      output_.back().flush = true;
    }
  }

  /// No more input. With operation::finish the response ends here, with operation::flush another
  /// segment follows.
  void end(operation how) noexcept {
    if (!input_.end(how)) core_.fail(error::out_of_memory);
  }

  [[nodiscard]] bool ended() const noexcept { return input_.ended(); }

  /// Input that waits for its step, in bytes.
  [[nodiscard]] std::size_t backlog() const noexcept { return input_.backlog(); }
  /// Input added since the segment began, in bytes.
  [[nodiscard]] std::uint64_t accepted() const noexcept { return input_.accepted(); }

  /// The host gets this segment's output now, so what it has not sent yet counts against the room.
  void deliver() noexcept { delivering_ = true; }

  /// The next block of output, or an empty handle.
  [[nodiscard]] block_handle take() noexcept {
    if (output_.empty()) return {};
    block_handle b = output_.pop();
    output_bytes_ -= b->size();
    return b;
  }

  /// True when its work is over (output may be left to take).
  [[nodiscard]] bool done() const noexcept { return done_; }
  /// True when nothing is left to do or to take; more input may still come.
  [[nodiscard]] bool at_rest() const noexcept {
    return input_.empty() && output_.empty() && !working();
  }

  /// Lets the coroutine go on if there is something that it can do now.
  void kick() noexcept {
    if (core_.stopped() || !can_step()) return;
    if (started_) {
      if (waiter_ != nullptr) core_.shared().queue.post(*waiter_);
      return;
    }
    started_ = true;
    running_ = run();
    if (!running_) return core_.fail(error::out_of_memory);
    running_.start();
  }

  /// Stops. A step that a worker has now ends by itself; everything else is given up at once.
  void cancel() noexcept {
    if (flying_) return;
    running_ = {};
    give_up();
  }

 private:
  static constexpr std::size_t output_block = std::size_t{16} * 1024;
  static constexpr std::size_t spaces = 4;

  /// What a worker touches during a step.
  struct work {
    std::optional<Encoder> codec;
    block_handle input;
    std::size_t consumed = 0;
    operation op = operation::process;
    std::array<block_handle, spaces> space;
    fault_link faults;
    bool complete = false;
    error failure = error::none;

    void operator()() noexcept {
      const fault_scope scope(faults);
      faults.delay();
      if (faults.fails()) {
        failure = error::encoder_failed;
        return;
      }
      for (block_handle& b : space) {
        const step_result result =
            codec->step(input->bytes().subspan(consumed), op, b->free_space());
        consumed += result.consumed;
        b->grow(result.produced);
        complete = result.complete;
        failure = result.failure;
        if (complete || failure != error::none) return;
      }
    }
  };

  /// Waits until can_step().
  class input_awaiter final : public suspended {
   public:
    explicit input_awaiter(segment& owner) noexcept : owner_(owner) {}
    ~input_awaiter() {
      owner_.waiter_ = nullptr;
      owner_.rest_.unlink();
    }
    input_awaiter(const input_awaiter&) = delete;
    input_awaiter& operator=(const input_awaiter&) = delete;

    [[nodiscard]] bool await_ready() const noexcept { return owner_.can_step(); }
    void await_suspend(std::coroutine_handle<> awaiting) noexcept {
      set_handle(awaiting);
      owner_.waiter_ = this;
      if (owner_.work_.codec) owner_.core_.shared().memory_budget.rest(owner_.rest_);
    }
    void await_resume() const noexcept {}

   private:
    segment& owner_;
  };

  /// Stands for this segment's encoder while it waits.
  class rest final : public resting_encoder {
   public:
    explicit rest(segment& owner) noexcept : owner_(owner) {}
    void give_back() noexcept override { owner_.park(); }

   private:
    segment& owner_;
  };

  task<> run() {
    permit slot;
    while (!core_.stopped() && !done_) {
      if (!can_step()) {
        slot.release();
        input_awaiter decided(*this);
        co_await decided;
      }  // and the encoder no longer rests
      if (nothing_left()) {
        end_work();
        break;
      }
      if (!claim_) {
        slot.release();  // who gives memory back may need one for it
        co_await core_.shared().memory_budget.admit(claim_, encoder_memory());
      }
      const bool here = core_.executor().runs_inline() || better_here(slot);
      if (!here) co_await core_.shared().jobs.admit(slot, classify());
      if (core_.stopped() || !prepare()) break;

      bool offloaded = false;
      if (!here && !work_.faults.refuses()) {
        const response_core::flight_guard flight(core_, flying_);
        offloaded = co_await offload(core_.executor(), core_.shared().queue, work_);
      }
      if (!here && !offloaded) {
        ++core_.shared().counters.refusals;
        if (core_.shared().jobs.refused(slot)) continue;
      }
      if (!offloaded) work_();
      ++core_.shared().counters.steps;
      take_in();
    }
    if (core_.stopped()) give_up();
  }

  [[nodiscard]] std::size_t step_size() const noexcept { return Encoder::step_size(encoding_); }

  /// A step is under way: started and not complete.
  [[nodiscard]] bool working() const noexcept { return work_.input != nullptr; }

  /// Ended by a cut just after everything had been flushed.
  [[nodiscard]] bool nothing_left() const noexcept {
    return input_.ended() && input_.empty() && !working();
  }

  /// The next step's input and operation are known, and its output has room.
  [[nodiscard]] bool can_step() noexcept {
    const bool decided =
        working() || nothing_left() || input_.decided() || (parking_ && !input_.empty());
    return decided && (parking_ || unsent() < core_.output_limit());
  }

  /// Output that has not left, in bytes.
  [[nodiscard]] std::size_t unsent() const noexcept {
    return output_bytes_ + (delivering_ ? core_.unsent() : 0);
  }

  /// Gives the encoder back while the response waits. A step that waits for room must end and what the
  /// encoder holds come out first, with the next step: one that only processes has another behind it.
  /// Later steps go on with a new one, at their offset.
  void park() noexcept {
    parking_ = working() || dirty_;
    if (!parking_ || core_.stopped()) return drop_encoder();
    kick();
  }

  [[nodiscard]] std::uint64_t work_ahead() noexcept {
    return Encoder::microseconds(encoding_, input_.ahead(parking_));
  }

  [[nodiscard]] step_class classify() noexcept {
    const std::uint64_t ahead = work_ahead();
    const std::uint64_t step = std::min(ahead, Encoder::microseconds(encoding_, step_size()));
    const bool dear = step > dear_work;
    if (ahead <= brief_work)
      return {work_.codec && input_.planned() ? rank::ending : rank::brief, dear};
    return {core_.begun() ? rank::begun : rank::fresh, dear};
  }

  /// Dear steps hold all slots, and the loop itself is done with this sooner.
  [[nodiscard]] bool better_here(const permit& slot) noexcept {
    return !slot && core_.shared().jobs.crowded() && work_ahead() <= dear_work;
  }

  [[nodiscard]] bool add_empty_output() noexcept {
    block_handle b = core_.shared().blocks.get(0);
    if (!b) {
      core_.fail(error::out_of_memory);
      return false;
    }
    output_.push(std::move(b));
    return true;
  }

  /// Makes `work_` a step: an encoder, input with its operation, and space for output.
  [[nodiscard]] bool prepare() noexcept {
    const fault_scope scope(core_.faults());
    if (!work_.codec && !make_encoder()) return false;
    if (!working()) {
      const bool early = start_.offset == 0 && input_.taken() == 0 && flushes_early();
      segment_input::step next = input_.next(early || parking_);
      work_.input = std::move(next.block);
      work_.consumed = 0;
      work_.op = next.op;
      dirty_ = next.op == operation::process;
      final_ = next.last;
      if (input_.runs_low()) core_.touch();  // refill while the step runs
    }
    work_.complete = false;
    for (block_handle& b : work_.space) {
      if (!b) b = core_.shared().blocks.get(output_block);
      if (!b) {
        core_.fail(error::out_of_memory);
        return false;
      }
    }
    return true;
  }

  /// Long enough to be worth a flush after its first step.
  [[nodiscard]] bool flushes_early() const noexcept {
    if (!Encoder::flush_is_cheap(encoding_)) return false;
    return !start_.length || *start_.length >= long_response * step_size();
  }

  [[nodiscard]] std::size_t encoder_memory() const noexcept {
    return Encoder::memory(encoding_, start_.length.value_or(start_.offset + accepted()));
  }

  [[nodiscard]] bool make_encoder() noexcept {
    engine& shared = core_.shared();
    const segment_start start{start_.offset + input_.taken(), start_.length,
                              input_.planned() ? 0 : backlog()};
    shared.respect_limit();
    memory_ = shared.workspaces.get(Encoder::shape(encoding_, start));
    if (memory_) work_.codec = Encoder::create(encoding_, start, *memory_);
    if (!work_.codec) {
      core_.fail(!memory_ || memory_->failed() ? error::out_of_memory : error::encoder_failed);
      return false;
    }
    work_.faults = core_.faults();
    core_.set_begun();
    ++shared.counters.encoders;
    return true;
  }

  /// Takes in what a step has done.
  void take_in() noexcept {
    if (work_.failure != error::none) {
      core_.fail(memory_->failed() ? error::out_of_memory : work_.failure);
    }
    if (core_.stopped()) return;
    engine& shared = core_.shared();
    shared.workspaces.recount(*memory_);
    shared.respect_limit();
    const fault_scope scope(core_.faults());
    bool produced = false;
    for (block_handle& b : work_.space) {
      if (b->size() == 0) {
        b.reset();
        continue;
      }
      produced = true;
      output_bytes_ += b->size();
      output_.push(std::move(b));
    }
    core_.touch();
    if (!work_.complete) return;

    const bool asked = work_.input->flush;
    const bool last = work_.op == operation::finish;
    work_.input.reset();
    if (asked || last) {
      if (!produced && !add_empty_output()) return;
      output_.back().flush = asked && !last;
      output_.back().last = last;
    }
    if (final_) {
      end_work();
    } else if (parking_) {
      park();
    }
  }

  void end_work() noexcept {
    done_ = true;
    drop_encoder();
    core_.touch();
  }

  void drop_encoder() noexcept {
    work_.codec.reset();
    memory_.reset();
    core_.shared().respect_limit();
    claim_.release();
  }

  void give_up() noexcept {
    drop_encoder();
    work_.input.reset();
    for (block_handle& b : work_.space) b.reset();
    input_.clear();
    output_.clear();
    output_bytes_ = 0;
  }

  response_core& core_;
  const options encoding_;
  const segment_start start_;

  segment_input input_;
  block_queue output_;
  std::size_t output_bytes_ = 0;

  bool dirty_ = false;       // the encoder holds input that no flush has followed
  bool final_ = false;       // the step under way is the last one
  bool parking_ = false;     // the encoder is wanted back once it has been flushed
  bool delivering_ = false;  // its output goes to the host now
  bool started_ = false;
  bool flying_ = false;
  bool done_ = false;

  claim claim_;                    // of an encoder
  workspace_cache::lease memory_;  // outlives the encoder in work_
  work work_;
  input_awaiter* waiter_ = nullptr;
  rest rest_{*this};
  task<> running_;  // last: it goes first
};

}  // namespace brio
