// Any sequence of calls to a response, with jobs that run and complete in any order, refusals and
// failures in between: what comes out is a valid stream of what went in, whole or visibly broken, and
// the end is always reached.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include <brio/brotli/encoder.hpp>
#include <brio/engine.hpp>
#include <brio/response.hpp>

#include "brotli_decoder.hpp"
#include "bytes.hpp"
#include "manual_executor.hpp"

namespace {

using brio::chunk;
using brio::engine;
using brio::error;
using brio::test::bytes;
using brio::test::manual_executor;
using response = brio::response<brio::brotli::encoder>;
using options = brio::response_options<brio::brotli::encoder>;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

const bytes& material() {
  static const bytes made = [] {
    bytes all = brio::test::text(200'000, 1);
    const bytes noise = brio::test::noise(60'000, 2);
    all.insert(all.begin() + 100'000, noise.begin(), noise.end());
    return all;
  }();
  return made;
}

class session {
 public:
  explicit session(FuzzedDataProvider& choose)
      : choose_(choose),
        shared_({.slots = choose.ConsumeIntegralInRange(1U, 4U),
                 .memory_limit = std::size_t{1} << choose.ConsumeIntegralInRange(18, 26)}) {}

  void run() {
    const options o = any_options();
    error why = error::none;
    body_ = response::create(shared_, executor_, {wake, this}, o, &why);
    if (!body_) return require(why == error::over_limit || faulty_, "refused without a reason");
    while (choose_.remaining_bytes() > 0 && !over()) act();
    finish();
    judge();
    chunks_.clear();
    body_ = {};
    executor_.drain();
    shared_.queue.run();
    require(shared_.jobs.running() == 0 && shared_.jobs.waiting() == 0, "slots are given back");
    require(shared_.memory_budget.reserved() == 0 && shared_.memory_budget.claimed() == 0,
            "memory is given back");
    shared_.trim();
    require(shared_.memory() == 0, "nothing is kept after trim");
  }

 private:
  static void wake(void*) noexcept {}

  options any_options() {
    options o;
    o.encoding = {choose_.ConsumeIntegralInRange(0, 11), choose_.ConsumeIntegralInRange(10, 24)};
    most_ = o.encoding.quality >= 10 ? 4000 : material().size();
    if (choose_.ConsumeBool()) o.length = choose_.ConsumeIntegralInRange<std::size_t>(0, most_);
    o.cuts = {
        choose_.ConsumeIntegralInRange(1U, 5U),
        choose_.ConsumeIntegralInRange<std::size_t>(std::max<std::size_t>(most_ / 30, 1), 100'000),
        choose_.ConsumeBool()};
    o.output_limit = choose_.ConsumeIntegralInRange<std::size_t>(1, 300'000);
    fails_ = choose_.ConsumeIntegralInRange(0, 7) == 0;
    runs_out_ = choose_.ConsumeIntegralInRange(0, 7) == 0;
    faulty_ = fails_ || runs_out_;
    if (fails_) faults_.fail.set(choose_.ConsumeIntegralInRange(1, 8));
    if (runs_out_) faults_.allocate.set(choose_.ConsumeIntegralInRange(1, 40));
    o.faults = brio::fault_link(faults_);
    return o;
  }

  [[nodiscard]] bool over() const { return body_.failure() != error::none || body_.complete(); }

  void act() {
    switch (choose_.ConsumeIntegralInRange(0, 9)) {
      case 0:
      case 1:
      case 2:
        return write(choose_.ConsumeIntegralInRange<std::size_t>(1, most_ / 2 + 1));
      case 3:
        return write(choose_.ConsumeIntegralInRange<std::size_t>(1, 300));
      case 4:
        return body_.flush();
      case 5:
        return (void)take();
      case 6:
        if (!chunks_.empty()) chunks_.erase(chunks_.begin());
        return;
      case 7:
        if (executor_.pending() > 0) executor_.run(any(executor_.pending()));
        return;
      case 8:
        if (executor_.done() > 0) executor_.complete(any(executor_.done()));
        return;
      default:
        if (choose_.ConsumeIntegralInRange(0, 3) > 0) return executor_.refuse_next(any(4) + 1);
        cancelled_ = true;
        return body_.cancel();
    }
  }

  std::size_t any(std::size_t count) {
    return choose_.ConsumeIntegralInRange<std::size_t>(0, count - 1);
  }

  void write(std::size_t size) {
    const std::size_t part = std::min(size, most_ - written_);
    written_ += body_.write(std::span(material()).subspan(written_, part));
  }

  bool take() {
    chunk c = body_.take();
    if (!c) return false;
    output_.insert(output_.end(), c.bytes().begin(), c.bytes().end());
    chunks_.push_back(std::move(c));
    return true;
  }

  /// Everybody does what he can until the response is over.
  void finish() {
    if (!over()) body_.finish();
    for (int idle = 0; !over(); ++idle) {
      while (take()) idle = 0;
      chunks_.clear();
      if (!executor_.idle()) idle = 0;
      executor_.drain();
      require(idle < 3, "the end is reached");
    }
    while (take()) {
    }
  }

  void judge() {
    brio::test::brotli_decoder decoder;
    decoder.feed(output_);
    require(!decoder.corrupt(), "the output is a brotli stream");
    require(decoder.output().size() <= written_ &&
                std::equal(decoder.output().begin(), decoder.output().end(), material().begin()),
            "it decodes to what was written");
    require(decoder.ended() == body_.complete(), "the stream ends where the response does");
    if (body_.complete()) {
      require(decoder.output().size() == written_, "all of it has come");
      return;
    }
    switch (body_.failure()) {
      case error::cancelled:
        return require(cancelled_, "cancelled by nobody");
      case error::encoder_failed:
        return require(fails_, "no step was to fail");
      default:
        return require(runs_out_, "no allocation was to fail");
    }
  }

  FuzzedDataProvider& choose_;
  engine shared_;
  manual_executor executor_;
  brio::fault_plan faults_;
  bool fails_ = false;
  bool runs_out_ = false;
  bool faulty_ = false;
  bool cancelled_ = false;
  std::size_t most_ = 0;
  std::size_t written_ = 0;
  bytes output_;
  response body_;
  std::vector<chunk> chunks_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider choose(data, size);
  session(choose).run();
  return 0;
}
