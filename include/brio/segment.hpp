// A segment: one run of a response's input through one encoder.
//
// The heart of it is a coroutine, run(), which for each step waits until the input is decided and the
// output has room, waits for a slot, has the step run elsewhere, and takes in what came of it. Input
// arrives and output leaves on the loop while it waits.
//
// Steps have a fixed size however the input arrived, so that the output does not depend on timing: a
// full block waits until it is known what follows it (more input, a flush, the end), because a finish
// on its own would cost bytes. A flush makes the block it falls into a step of its own; what arrives
// before that step starts joins it.
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

namespace brio {

// Estimates of the encoder's, in microseconds, from which the rank of a step follows.

/// Work that takes no longer than this is brief to the limiter.
inline constexpr std::uint64_t brief_work = 5000;
/// And up to this it is better done on the loop than to wait for dear steps to end.
inline constexpr std::uint64_t bearable_work = 1000;
/// A step that may take longer than this is dear.
inline constexpr std::uint64_t dear_work = 25000;

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
        expected_(expected),
        step_size_(Encoder::step_size(encoding)) {}

  /// Adds input. Fails the response when there is no memory.
  void append(std::span<const std::byte> bytes) noexcept {
    while (!bytes.empty()) {
      if (!make_room(bytes.size())) return core_.fail(error::out_of_memory);
      block& last = input_.back();
      const std::size_t taken =
          last.append(bytes.first(std::min(bytes.size(), step_size_ - last.size())));
      accepted_ += taken;
      waiting_bytes_ += taken;
      bytes = bytes.subspan(taken);
    }
  }

  /// Makes everything added so far decodable; with nothing new, an empty chunk says so in its turn.
  void flush() noexcept {
    if (!input_.empty()) {
      input_.back().flush = true;
    } else if (working()) {
      work_.input->flush = true;  // a step with nothing behind it flushes or ends anyway
    } else if (add_empty(output_)) {
      output_.back().flush = true;
    }
  }

  /// No more input. With operation::finish the response ends here, with operation::flush another
  /// segment follows.
  void end(operation how) noexcept {
    ending_ = how;
    if (how == operation::finish && input_.empty()) (void)add_empty(input_);
  }

  [[nodiscard]] bool ended() const noexcept { return ending_.has_value(); }

  /// Input that waits for its step, in bytes.
  [[nodiscard]] std::size_t backlog() const noexcept { return waiting_bytes_; }
  /// Input added since the segment began, in bytes.
  [[nodiscard]] std::uint64_t accepted() const noexcept { return accepted_; }

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
        finish();
        break;
      }
      if (!claim_) {
        slot.release();  // who gives memory back may need one for it
        co_await core_.shared().memory_budget.admit(claim_, encoder_memory());
      }
      const bool here = core_.executor().runs_inline() || better_here(slot);
      if (!here) co_await core_.shared().jobs.admit(slot, classify());
      if (core_.stopped() || !prepare()) break;

      bool ran = false;
      if (!here) {
        const response_core::flight_guard flight(core_, flying_);
        if (!work_.faults.refuses()) {
          ran = co_await offload(core_.executor(), core_.shared().queue, work_);
        }
      }
      if (!ran) {
        if (!here) ++core_.shared().counters.refusals;
        if (!here && core_.shared().jobs.refused(slot)) continue;
        work_();
      }
      ++core_.shared().counters.steps;
      take_in();
    }
    if (core_.stopped()) give_up();
  }

  /// A step is under way: started and not complete.
  [[nodiscard]] bool working() const noexcept { return work_.input != nullptr; }

  /// Ended by a cut just after everything had been flushed.
  [[nodiscard]] bool nothing_left() const noexcept {
    return ending_ == operation::flush && !working() && input_.empty();
  }

  /// The next step's input and operation are known, and its output has room.
  [[nodiscard]] bool can_step() noexcept {
    const bool decided =
        working() || nothing_left() ||
        (!input_.empty() && (input_.count() > 1 || flushes_next() || ending_.has_value()));
    return decided && (parking_ || unsent() < core_.output_limit());
  }

  /// The next block's step is to flush whatever follows it: the host asked, or the encoder is wanted back.
  [[nodiscard]] bool flushes_next() noexcept { return input_.front().flush || parking_; }

  /// Output that has not left, in bytes.
  [[nodiscard]] std::size_t unsent() const noexcept {
    return output_bytes_ + (delivering_ ? core_.unsent() : 0);
  }

  /// Gives the encoder back while the response waits. A step that waits for room must end and what the
  /// encoder holds come out first, with the next step: one that only processes has another behind it.
  /// Later steps go on with a new one, at their offset.
  void park() noexcept {
    parking_ = working() || dirty_;
    if (!parking_ || core_.stopped()) return close();
    kick();
  }

  /// Input that the encoder has been given, in bytes.
  [[nodiscard]] std::uint64_t processed() const noexcept { return accepted_ - waiting_bytes_; }

  /// How much this segment still has to do as far as is known: its expected rest, what a flush asks
  /// for, or else as much as there was so far.
  [[nodiscard]] std::uint64_t work_ahead() noexcept {
    std::uint64_t bytes = accepted_;
    if (expected_) {
      bytes = *expected_ - std::min(*expected_, processed());
    } else if (!input_.empty() && flushes_next()) {
      bytes = input_.front().size();
    }
    return Encoder::microseconds(encoding_, bytes);
  }

  [[nodiscard]] step_class classify() noexcept {
    const std::uint64_t ahead = work_ahead();
    const std::uint64_t step = std::min(ahead, Encoder::microseconds(encoding_, step_size_));
    if (ahead <= brief_work) return {work_.codec && expected_ ? rank::ending : rank::brief, false};
    return {core_.begun() ? rank::begun : rank::fresh, step > dear_work};
  }

  /// Dear steps hold all slots, and the loop itself is done with this sooner.
  [[nodiscard]] bool better_here(const permit& slot) noexcept {
    return !slot && core_.shared().jobs.crowded() && work_ahead() <= bearable_work;
  }

  /// Sees to it that the last input block has room: a block grows with its input up to a step.
  [[nodiscard]] bool make_room(std::size_t bytes) noexcept {
    const std::size_t filled = input_.empty() ? step_size_ : input_.back().size();
    if (filled < step_size_ && input_.back().room() > 0) return true;

    const bool grows = filled < step_size_;
    const std::uint64_t coming = expected_ ? *expected_ - std::min(*expected_, accepted_) : bytes;
    const std::uint64_t wanted = grows ? filled * 4 : std::max<std::uint64_t>(coming, bytes);
    block_handle fresh = core_.shared().blocks.get(
        static_cast<std::size_t>(std::min<std::uint64_t>(step_size_, wanted)));
    if (!fresh) return false;
    if (grows) {
      const block_handle smaller = input_.pop_back();
      fresh->append(smaller->bytes());
      fresh->flush = smaller->flush;
    }
    input_.push(std::move(fresh));
    return true;
  }

  [[nodiscard]] bool add_empty(block_queue& queue) noexcept {
    block_handle b = core_.shared().blocks.get(0);
    if (!b) {
      core_.fail(error::out_of_memory);
      return false;
    }
    queue.push(std::move(b));
    return true;
  }

  /// Makes `work_` a step: an encoder, input with its operation, and space for output.
  [[nodiscard]] bool prepare() noexcept {
    const fault_scope scope(core_.faults());
    if (!work_.codec && !open()) return false;
    if (!working()) {
      const bool early = start_.offset == 0 && processed() == 0 && flushes_early();
      const bool last = ending_.has_value() && input_.count() == 1;
      const bool flushes = early || flushes_next();
      work_.input = input_.pop();
      waiting_bytes_ -= work_.input->size();
      work_.consumed = 0;
      work_.op = last ? *ending_ : flushes ? operation::flush : operation::process;
      dirty_ = work_.op == operation::process;
      final_ = last;
      if (!ending_ && input_.count() < 2) core_.touch();  // refill while the step runs
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
    return !start_.length || *start_.length >= long_response * step_size_;
  }

  [[nodiscard]] std::size_t encoder_memory() const noexcept {
    return Encoder::memory(encoding_, start_.length.value_or(start_.offset + accepted_));
  }

  [[nodiscard]] bool open() noexcept {
    engine& shared = core_.shared();
    const segment_start start{start_.offset + processed(), start_.length,
                              expected_ ? 0 : waiting_bytes_};
    if (shared.over_limit()) shared.trim();
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
    core_.shared().workspaces.recount(*memory_);
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
      if (!produced && !add_empty(output_)) return;
      output_.back().flush = asked && !last;
      output_.back().last = last;
    }
    if (final_) {
      finish();
    } else if (parking_) {
      park();
    }
  }

  void finish() noexcept {
    done_ = true;
    close();
    core_.touch();
  }

  void close() noexcept {
    work_.codec.reset();
    memory_.reset();
    claim_.release();
  }

  void give_up() noexcept {
    close();
    work_.input.reset();
    for (block_handle& b : work_.space) b.reset();
    input_.clear();
    output_.clear();
    waiting_bytes_ = output_bytes_ = 0;
  }

  response_core& core_;
  const options encoding_;
  const segment_start start_;
  const std::optional<std::uint64_t> expected_;
  const std::size_t step_size_;

  block_queue input_;
  std::uint64_t accepted_ = 0;
  std::size_t waiting_bytes_ = 0;
  std::optional<operation> ending_;

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
