#include <brio/response.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <brio/async/inline_executor.hpp>
#include <brio/brotli/encoder.hpp>
#include <brio/engine.hpp>

#include "brotli_decoder.hpp"
#include "bytes.hpp"
#include "catch.hpp"
#include "host.hpp"
#include "manual_executor.hpp"
#include "play.hpp"
#include "store_decoder.hpp"
#include "store_encoder.hpp"

namespace {

using brio::chunk;
using brio::engine;
using brio::error;
using brio::inline_executor;
using brio::response_options;
using brio::test::at_rest;
using brio::test::brotli_decode;
using brio::test::bytes;
using brio::test::dice;
using brio::test::habits;
using brio::test::host;
using brio::test::manual_executor;
using brio::test::play;
using brio::test::store_decode;
using brio::test::store_decoder;
using brio::test::store_encoder;

using store_host = host<store_encoder>;
using store_options = response_options<store_encoder>;
using brotli_host = host<brio::brotli::encoder>;
using brotli_options = response_options<brio::brotli::encoder>;

constexpr std::size_t step = 64;

template <class Host>
void finish_play(manual_executor& executor, std::uint64_t seed, Host& h) {
  dice choose(seed);
  play(executor, choose, {&h}).run();
}

bytes decoded(const bytes& output) {
  store_decoder decoder;
  decoder.feed(output);
  CHECK_FALSE(decoder.corrupt());
  return decoder.output();
}

bytes concatenated(std::span<const std::byte> one, std::span<const std::byte> other) {
  bytes made(one.begin(), one.end());
  made.insert(made.end(), other.begin(), other.end());
  return made;
}

}  // namespace

TEST_CASE("a body comes out whole, inline and on an executor", "[response]") {
  const bytes body = brio::test::text(1000, 1);
  engine shared({.slots = 2});
  inline_executor direct;
  store_host one(shared, direct, body, {});
  one.pump();
  REQUIRE(one.complete());
  CHECK(store_decode(one.output()) == body);

  manual_executor executor;
  store_host other(shared, executor, body, {});
  finish_play(executor, 1, other);
  REQUIRE(other.complete());
  CHECK(other.output() == one.output());
  CHECK(other.body().bytes_in() == body.size());
  CHECK(other.body().bytes_out() == other.output().size());
  CHECK_FALSE(other.body().take());
  CHECK_FALSE(other.body().pending());
  one.drop();
  other.drop();
  CHECK(at_rest(shared));
}

TEST_CASE("an empty body is one chunk that says last", "[response]") {
  engine shared({.slots = 2});
  manual_executor executor;
  const auto length = GENERATE(std::optional<std::uint64_t>{}, std::optional<std::uint64_t>{0});
  brotli_host h(shared, executor, {}, brotli_options{.length = length});
  finish_play(executor, 1, h);
  REQUIRE(h.complete());
  CHECK(brotli_decode(h.output()) == bytes{});
}

TEST_CASE("a host that only finishes gets its end without having to write", "[response]") {
  engine shared({.slots = 2});
  inline_executor executor;
  store_host h(shared, executor, {}, {});
  h.body().finish();
  chunk end = h.body().take();
  REQUIRE(end);
  CHECK(end.last());
  CHECK_FALSE(end.flush());
  CHECK(h.body().complete());
}

TEST_CASE("write() takes four steps ahead of its encoder, and wakes when there is room again",
          "[response]") {
  engine shared({.slots = 1});
  manual_executor executor;
  const bytes body = brio::test::text(20 * step, 1);
  store_host h(shared, executor, body, {});
  h.pump();
  CHECK(body.size() - h.left() == 5 * step);  // one of them is with the executor
  CHECK_FALSE(h.ready());
  CHECK(h.body().in_flight() == 1);
  executor.run();
  CHECK_FALSE(h.ready());
  executor.complete();
  CHECK(h.ready());
  h.pump();
  CHECK(body.size() - h.left() == 6 * step);
}

TEST_CASE(
    "write() takes a step, and a byte to decide it, while the response waits for its first slot",
    "[response]") {
  engine shared({.slots = 1});
  manual_executor executor;
  const bytes body = brio::test::text(20 * step, 1);
  store_host busy(shared, executor, body, {});
  store_host h(shared, executor, body, {});
  busy.pump();
  h.pump();
  CHECK(body.size() - h.left() == step + 1);
  CHECK_FALSE(h.ready());
  busy.drop();
  executor.run();
  executor.complete();
  CHECK(h.body().in_flight() == 1);
  CHECK(h.ready());  // it may take more while its first step runs
  finish_play(executor, 1, h);
  CHECK(h.complete());
}

TEST_CASE("compressing pauses at the output limit until chunks are sent", "[response]") {
  constexpr unsigned copies = 128;  // 8 KiB of output a step
  constexpr std::size_t limit = 20'000;
  constexpr std::size_t most_a_step = 64 * 1024;
  const bytes body = brio::test::text(40 * step, 1);
  engine shared({.slots = 2});
  manual_executor executor;
  store_host h(shared, executor, body,
               store_options{.encoding = {.copies = copies}, .output_limit = limit},
               {.keeps_chunks = true});
  dice choose(1);
  std::size_t pauses = 0;
  while (!h.complete()) {
    h.pump();
    while (!executor.idle()) {
      executor.anything(choose);
      h.pump();
    }
    if (h.complete()) break;
    REQUIRE(h.failure() == error::none);
    REQUIRE(h.body().unsent() >= limit);
    REQUIRE(h.body().unsent() < limit + most_a_step);
    REQUIRE(shared.jobs.running() == 0);
    h.send_all();
    REQUIRE(h.body().unsent() == 0);
    ++pauses;
  }
  CHECK(pauses > 10);
  CHECK(store_decode(h.output(), copies) == body);
}

TEST_CASE("output that waits for its turn is bounded by the output limit too", "[response]") {
  constexpr unsigned copies = 128;
  constexpr std::size_t limit = 20'000;
  const std::size_t part = 20 * step;
  const bytes body = brio::test::text(4 * part, 1);
  engine shared({.slots = 4});
  manual_executor executor;
  store_host h(shared, executor, body,
               store_options{.encoding = {.copies = copies},
                             .length = body.size(),
                             .cuts = {4, part},
                             .output_limit = limit});
  h.pump();
  REQUIRE(executor.pending() == 4);
  // The first segment's job never runs; the others go as far as they may.
  while (executor.pending() > 1) {
    executor.run(1);
    executor.complete();
  }
  CHECK(h.output().empty());
  CHECK(shared.jobs.running() == 1);
  const std::size_t most = 3 * (limit + std::size_t{128} * 1024) + std::size_t{256} * 1024;
  CHECK(shared.blocks.used_bytes() < most);
  finish_play(executor, 1, h);
  REQUIRE(h.complete());
  CHECK(store_decode(h.output(), copies) == body);
}

TEST_CASE("a flush makes everything written before it decodable", "[response]") {
  const std::uint64_t seed = GENERATE(1U, 2U, 3U);
  const bytes body = brio::test::text(3 * step, 1);
  for (std::size_t size = 1; size <= body.size(); size += 7) {
    CAPTURE(seed, size);
    engine shared({.slots = 2});
    manual_executor executor;
    const bytes part(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(size));
    store_host h(shared, executor, part, {}, {.flush_at = {size}, .finishes = false});
    finish_play(executor, seed, h);
    REQUIRE_FALSE(h.flush_marks().empty());
    CHECK(h.flush_marks().back() == h.output().size());
    CHECK(decoded(h.output()) == part);
    CHECK_FALSE(h.body().pending());
  }
}

TEST_CASE("a flush with nothing new is answered by an empty chunk", "[response]") {
  engine shared({.slots = 2});
  inline_executor executor;
  const bytes body = brio::test::text(10, 1);
  store_host h(shared, executor, body, {}, {.finishes = false});
  for (int i = 0; i < 2; ++i) {
    h.body().flush();  // before any input
    chunk mark = h.body().take();
    REQUIRE(mark);
    CHECK(mark.flush());
    CHECK(mark.bytes().empty());
  }
  h.pump();
  h.body().flush();
  h.pump();
  const std::size_t size = h.output().size();
  REQUIRE(h.flush_marks() == std::vector{size});
  h.body().flush();
  h.pump();
  CHECK(h.flush_marks() == std::vector{size, size});
  h.body().finish();
  h.pump();
  CHECK(h.complete());
  CHECK(store_decode(h.output()) == body);
}

TEST_CASE("a flush on a response that is at rest wakes nobody and is there at once", "[response]") {
  engine shared({.slots = 2});
  manual_executor executor;
  store_host h(shared, executor, {}, {}, {.finishes = false});
  h.body().flush();
  CHECK(executor.idle());
  CHECK(h.body().pending());
  CHECK(h.body().take().flush());
  CHECK_FALSE(h.body().pending());
}

TEST_CASE("a flush just before a cut keeps its mark", "[response]") {
  const bytes body = brio::test::text(4 * step, 1);
  engine shared({.slots = 2});
  manual_executor executor;
  store_host h(shared, executor, body, store_options{.length = body.size(), .cuts = {2, 2 * step}},
               {.flush_at = {2 * step}});
  finish_play(executor, GENERATE(1U, 2U, 3U, 4U), h);
  REQUIRE(h.complete());
  REQUIRE(h.flush_marks().size() == 1);
  bytes until_mark = h.output();
  until_mark.resize(h.flush_marks().front());
  CHECK(decoded(until_mark) == bytes(body.begin(), body.begin() + 2 * step));
  CHECK(store_decode(h.output()) == body);
}

TEST_CASE("a flush whose segment is not delivered yet is answered in its turn", "[response]") {
  const bytes body = brio::test::text(3 * step, 1);
  engine shared({.slots = 2});
  manual_executor executor;
  store_host h(shared, executor, body, store_options{.length = 4 * step, .cuts = {2, 2 * step}},
               {.flush_at = {3 * step}, .finishes = false});
  h.pump();
  REQUIRE(executor.pending() == 2);
  executor.run(1);
  executor.complete();
  h.pump();
  CHECK(h.output().empty());
  executor.drain();
  h.pump();
  executor.drain();
  h.pump();
  CHECK(h.flush_marks() == std::vector{h.output().size()});
  CHECK(decoded(h.output()) == body);
}

TEST_CASE("fewer or more bytes than announced are compressed all the same", "[response]") {
  const std::size_t announced = 8 * step;
  const auto real = GENERATE(as<std::size_t>{}, 0U, 1U, 100U, 128U, 129U, 511U, 513U, 1000U, 5000U);
  const auto tasks = GENERATE(1U, 4U);
  CAPTURE(real, tasks);
  const bytes body = brio::test::text(real, 1);
  {
    engine shared({.slots = 4});
    manual_executor executor;
    store_host h(shared, executor, body,
                 store_options{.length = announced, .cuts = {tasks, 2 * step}});
    finish_play(executor, real, h);
    REQUIRE(h.complete());
    CHECK(store_decode(h.output()) == body);
  }
  engine shared({.slots = 4});
  manual_executor executor;
  brotli_host h(shared, executor, body,
                brotli_options{.length = announced, .cuts = {tasks, 2 * step}});
  finish_play(executor, real, h);
  REQUIRE(h.complete());
  CHECK(brotli_decode(h.output()) == body);
}

TEST_CASE("a response of known length is cut where slots are idle, in parts that run together",
          "[response]") {
  const bytes body = brio::test::text(8 * step, 1);
  const auto [tasks, slots, parts] =
      GENERATE(table<unsigned, unsigned, unsigned>({{4, 4, 4}, {4, 2, 2}, {2, 4, 2}, {1, 4, 1}}));
  CAPTURE(tasks, slots);
  engine shared({.slots = slots});
  manual_executor executor;
  store_host h(shared, executor, body,
               store_options{.length = body.size(), .cuts = {tasks, 2 * step}});
  h.pump();
  CHECK(executor.pending() == parts);
  CHECK(h.body().in_flight() == parts);
  finish_play(executor, 1, h);
  CHECK(store_decode(h.output()) == body);
  CHECK(shared.counters.encoders == parts);
}

TEST_CASE("input of unknown length that comes faster than it is compressed is cut", "[response]") {
  const bytes body = brio::test::text(40 * step, 1);
  const auto [tasks, cut] = GENERATE(table<unsigned, bool>({{1, false}, {4, true}}));
  engine shared({.slots = 4});
  manual_executor executor;
  store_host h(shared, executor, body, store_options{.cuts = {tasks, 4 * step}});
  h.pump();
  CHECK(executor.pending() == tasks);
  finish_play(executor, 1, h);
  REQUIRE(h.complete());
  CHECK(store_decode(h.output()) == body);
  CHECK((shared.counters.encoders > 1) == cut);
}

TEST_CASE("on the loop itself nothing is cut and nothing waits for a slot", "[response]") {
  const bytes body = brio::test::text(40 * step, 1);
  engine shared({.slots = 1});
  manual_executor executor;
  store_host busy(shared, executor, body, {});
  busy.pump();
  REQUIRE(shared.jobs.running() == 1);
  inline_executor direct;
  store_host h(shared, direct, body, store_options{.length = body.size(), .cuts = {4, step}});
  h.pump();
  REQUIRE(h.complete());
  CHECK(store_decode(h.output()) == body);
  CHECK(shared.counters.encoders == 2);
  CHECK(shared.jobs.running() == 1);
  finish_play(executor, 1, busy);
  CHECK(busy.complete());
}

TEST_CASE("a long response that has started finishes before another long one starts",
          "[response]") {
  const bytes body = brio::test::text(30 * step, 1);
  const store_options costly{.encoding = {.cost = brio::brief_work}, .length = body.size()};
  engine shared({.slots = 1});
  manual_executor executor;
  store_host one(shared, executor, body, costly);
  store_host other(shared, executor, body, costly);
  one.pump();
  other.pump();
  while (!one.complete()) {
    REQUIRE_FALSE(executor.idle());
    CHECK(shared.counters.encoders == 1);
    executor.run();
    executor.complete();
    one.pump();
    other.pump();
  }
  CHECK(other.output().empty());
  finish_play(executor, 1, other);
  CHECK(other.complete());
}

TEST_CASE("a brief response waits for one step of a long one, not for the rest", "[response]") {
  const bytes body = brio::test::text(30 * step, 1);
  engine shared({.slots = 1});
  manual_executor executor;
  store_host longer(shared, executor, body,
                    store_options{.encoding = {.cost = brio::brief_work}, .length = body.size()});
  store_host brief(shared, executor, std::span(body).first(step),
                   store_options{.encoding = {.cost = 1}, .length = step});
  longer.pump();
  brief.pump();
  for (int i = 0; i < 2; ++i) {
    executor.run();
    executor.complete();
    longer.pump();
    brief.pump();
  }
  CHECK(brief.complete());
  CHECK_FALSE(longer.complete());
  finish_play(executor, 1, longer);
  CHECK(longer.complete());
}

TEST_CASE("cheap work is done on the loop while dear steps have all slots", "[response]") {
  const bytes body = brio::test::text(3 * step, 1);
  engine shared({.slots = 1});
  manual_executor executor;
  store_host dear(shared, executor, body,
                  store_options{.encoding = {.cost = brio::dear_work}, .length = body.size()});
  dear.pump();
  REQUIRE(shared.jobs.crowded());
  store_host cheap(shared, executor, body,
                   store_options{.encoding = {.cost = 1}, .length = body.size()});
  cheap.pump();
  CHECK(cheap.complete());
  store_host middling(shared, executor, body,
                      store_options{.encoding = {.cost = brio::dear_work}, .length = body.size()});
  middling.pump();
  CHECK_FALSE(middling.complete());
  CHECK(executor.submissions() == 1);
  CHECK(shared.counters.refusals == 0);
  finish_play(executor, 1, dear);
  finish_play(executor, 1, middling);
  CHECK(dear.complete());
  CHECK(middling.complete());
}

TEST_CASE("a response about to end goes before brief ones that have not started", "[response]") {
  // No step is dear; the whole is not brief, nor is it after the first step, but after the second.
  const bytes body = brio::test::text(7 * step, 1);
  const store_options o{.encoding = {.cost = brio::dear_work / step}, .length = body.size()};
  engine shared({.slots = 1});
  manual_executor executor;
  store_host ending(shared, executor, body, o);
  ending.pump();
  store_host brief(shared, executor, std::span(body).first(step),
                   store_options{.encoding = {.cost = 1}, .length = step});
  brief.pump();
  const auto serve_one = [&] {
    executor.run();
    executor.complete();
    ending.pump();
    brief.pump();
  };
  serve_one();
  CHECK_FALSE(brief.complete());
  serve_one();
  CHECK(brief.complete());  // six steps of the other were not brief
  store_host late(shared, executor, std::span(body).first(step),
                  store_options{.encoding = {.cost = 1}, .length = step});
  late.pump();
  while (!ending.complete()) {
    REQUIRE_FALSE(executor.idle());
    serve_one();
  }
  CHECK(late.output().empty());
  finish_play(executor, 1, late);
  CHECK(late.complete());
}

TEST_CASE("a long response gives its first output after its first step", "[response]") {
  const auto steps = GENERATE(as<std::size_t>{}, 15U, 16U);
  CAPTURE(steps);
  const bytes body = brio::test::text(steps * 65536, 1);
  engine shared({.slots = 1});
  manual_executor executor;
  brotli_host h(shared, executor, body, brotli_options{.length = body.size()});
  h.pump();
  executor.run();
  executor.complete();
  h.pump();
  brio::test::brotli_decoder decoder;
  decoder.feed(h.output());
  CHECK((decoder.output().size() == 65536) == (steps >= brio::long_response));
  CHECK(h.flush_marks().empty());  // nobody asked
}

TEST_CASE("a write that takes nothing and lets a step run on the loop has its host woken",
          "[response]") {
  // The cut is made by the write after the one that fills the segment, and there is room for one.
  const bytes body = brio::test::text(3 * step, 1);
  engine shared({.slots = 1});
  brio::inline_executor direct;
  store_host h(shared, direct, body, {.cuts = {1, step, true}}, {.write_size = step});
  h.pump();
  while (!h.complete()) {
    REQUIRE(h.ready());
    h.pump();
  }
  CHECK(store_decode(h.output()) == body);
}

TEST_CASE("fixed cuts give the same bytes whatever the load", "[response]") {
  const bytes body = brio::test::text(50 * step + 7, 1);
  const bool known = GENERATE(false, true);
  std::optional<bytes> first;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(known, seed);
    dice choose(seed);
    engine shared({.slots = static_cast<unsigned>(choose.between(1, 6))});
    manual_executor executor;
    inline_executor direct;
    store_options o{.cuts = {static_cast<unsigned>(choose.between(1, 6)), 7 * step, true}};
    if (known) o.length = body.size();
    const bool here = choose.one_in(5);
    store_host h(shared, here ? brio::executor_ref(direct) : brio::executor_ref(executor), body, o,
                 {.write_size = choose.between(10, 1000)});
    finish_play(executor, seed, h);
    REQUIRE(h.complete());
    CHECK(shared.counters.encoders >= 7);
    if (!first) first = h.output();
    CHECK(h.output() == *first);
  }
  CHECK(store_decode(*first) == body);
}

TEST_CASE("a flush or the end may come while a cut waits for its turn", "[response]") {
  const bytes body = brio::test::text(4 * step, 1);
  const bool known = GENERATE(false, true);
  const bool served = GENERATE(false, true);
  CAPTURE(known, served);
  engine shared({.slots = 1});
  manual_executor executor;
  store_options o{.cuts = {1, 2 * step, true}};
  if (known) o.length = body.size();
  store_host h(shared, executor, {}, o);
  CHECK(h.body().write(std::span(body).first(2 * step)) == 2 * step);
  CHECK(h.body().write(std::span(body).last(2 * step)) == 0);
  if (served) executor.drain();
  h.body().flush();
  finish_play(executor, 1, h);  // ends here after all
  REQUIRE(h.complete());
  CHECK(h.flush_marks().size() == 1);
  CHECK(store_decode(h.output()) == bytes(body.begin(), body.begin() + 2 * step));
}

TEST_CASE("a response that is cancelled says so, gives nothing more and takes nothing more",
          "[response]") {
  const bytes body = brio::test::text(30 * step, 1);
  engine shared({.slots = 2});
  manual_executor executor;
  store_host h(shared, executor, body, {});
  h.pump();
  executor.run();
  executor.complete();
  h.body().cancel();
  CHECK(h.failure() == error::cancelled);
  CHECK_FALSE(h.body().take());
  CHECK(h.body().write(body) == 0);
  h.body().flush();
  h.body().finish();
  CHECK_FALSE(h.body().take());
  CHECK_FALSE(h.body().complete());
  executor.drain();
  CHECK(h.body().in_flight() == 0);
  CHECK(shared.blocks.used_bytes() == 0);
  CHECK(shared.jobs.running() == 0);
  CHECK(shared.memory_budget.claimed() == 0);
}

TEST_CASE("cancelling leaves the first failure in place", "[response]") {
  brio::fault_plan plan;
  plan.fail.set(1);
  const bytes body = brio::test::text(step, 1);
  engine shared({.slots = 2});
  inline_executor executor;
  store_host h(shared, executor, body, store_options{.faults = brio::fault_link(plan)});
  h.pump();
  REQUIRE(h.failure() == error::encoder_failed);
  h.body().cancel();
  CHECK(h.failure() == error::encoder_failed);
}

TEST_CASE("a chunk outlives its response and gives its memory back when it dies", "[response]") {
  const bytes body = brio::test::text(step, 1);
  engine shared({.slots = 2});
  inline_executor executor;
  chunk kept;
  {
    store_host h(shared, executor, body, {}, {.finishes = false});
    CHECK(h.body().write(body) == body.size());
    h.body().flush();
    kept = h.body().take();
    REQUIRE(kept);
  }
  CHECK(shared.blocks.used_bytes() > 0);
  CHECK(decoded(bytes(kept.bytes().begin(), kept.bytes().end())) == body);
  CHECK(kept.flush());
  kept = {};
  CHECK(at_rest(shared));
}

TEST_CASE("a response may be moved while its steps are under way", "[response]") {
  const bytes body = brio::test::text(10 * step, 1);
  engine shared({.slots = 2});
  manual_executor executor;
  using response = brio::response<store_encoder>;
  const brio::waker nobody{[](void*) noexcept {}, nullptr};
  response one = response::create(shared, executor, nobody, {});
  CHECK(one.write(std::span(body).first(2 * step)) == 2 * step);
  response other = std::move(one);
  CHECK_FALSE(one);  // NOLINT(bugprone-use-after-move)
  executor.drain();
  other.finish();
  executor.drain();
  bytes output;
  while (chunk c = other.take()) {
    output = concatenated(output, c.bytes());
  }
  CHECK(other.complete());
  CHECK(store_decode(output) == bytes(body.begin(), body.begin() + 2 * step));
}

TEST_CASE("a failing encoder ends its response at every step, and no other", "[response]") {
  const bytes body = brio::test::text(10 * step, 1);
  for (long nth = 1; nth <= 10; ++nth) {
    CAPTURE(nth);
    brio::fault_plan plan;
    plan.fail.set(nth);
    engine shared({.slots = 2});
    manual_executor executor;
    dice choose(static_cast<std::uint64_t>(nth));
    {
      store_host failing(shared, executor, body, store_options{.faults = brio::fault_link(plan)});
      store_host other(shared, executor, body, {});
      play<store_encoder>(executor, choose, {&failing, &other}).run();
      CHECK(failing.failure() == error::encoder_failed);
      CHECK_FALSE(failing.complete());
      CHECK_FALSE(failing.body().take());
      REQUIRE(other.complete());
      CHECK(store_decode(other.output()) == body);
    }
    CHECK(executor.idle());
    CHECK(at_rest(shared));
  }
}

TEST_CASE("many responses share a few slots, none is stuck and none is woken inside its own calls",
          "[response]") {
  const std::uint64_t seed = GENERATE(range(1U, 41U));
  CAPTURE(seed);
  dice choose(seed);
  const auto slots = static_cast<unsigned>(choose.between(1, 4));
  engine shared({.slots = slots});
  manual_executor executor;
  std::vector<bytes> bodies;
  std::vector<unsigned> copies;
  for (int i = 0; i < 4; ++i) {
    bodies.push_back(brio::test::text(choose.below(50 * step), seed));
    copies.push_back(choose.one_in(2) ? 1 : 300);
  }
  std::vector<std::unique_ptr<store_host>> hosts;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t size = bodies[i].size();
    store_options o{.encoding = {.copies = copies[i], .cost = choose.below(100)},
                    .cuts = {static_cast<unsigned>(choose.between(1, 4)), choose.between(1, 300)},
                    .output_limit = choose.between(1, 100'000)};
    if (choose.one_in(2)) o.length = size;
    habits h{.write_size = choose.between(1, 200),
             .waits_for_flush = choose.one_in(2),
             .keeps_chunks = choose.one_in(2)};
    if (choose.one_in(2)) h.flush_at = {size / 3, size / 2};
    hosts.push_back(std::make_unique<store_host>(shared, executor, bodies[i], o, h));
  }
  play<store_encoder> all(executor, choose,
                          {hosts[0].get(), hosts[1].get(), hosts[2].get(), hosts[3].get()});
  while (all.event()) REQUIRE(shared.jobs.running() <= slots);
  for (std::size_t i = 0; i < 4; ++i) {
    REQUIRE(hosts[i]->complete());
    CHECK(store_decode(hosts[i]->output(), copies[i]) == bodies[i]);
    CHECK(hosts[i]->wakes_inside_calls() == 0);
  }
  hosts.clear();
  CHECK(at_rest(shared));
}
