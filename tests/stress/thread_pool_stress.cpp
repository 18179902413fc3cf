// The engine on real threads, driven by an event loop that sleeps on an eventfd: many responses, a
// pool that refuses, encoders that fail, clients that leave. Meant for TSan. Only the loop's thread
// asserts.
#include <brio/async/thread_pool.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <brio/brotli/encoder.hpp>
#include <brio/engine.hpp>
#include <brio/faults.hpp>
#include <brio/response.hpp>

#include "brotli_decoder.hpp"
#include "bytes.hpp"
#include "catch.hpp"
#include "dice.hpp"
#include "host.hpp"
#include "play.hpp"

namespace {

using brio::error;
using brio::test::bytes;
using brio::test::dice;
using brotli_host = brio::test::host<brio::brotli::encoder>;
using brotli_options = brio::response_options<brio::brotli::encoder>;

class event {
 public:
  event() { REQUIRE(fd_ >= 0); }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { ::close(fd_); }

  /// Any thread.
  void notify() const noexcept {
    const std::uint64_t one = 1;
    (void)!::write(fd_, &one, sizeof one);
  }

  /// False when nothing has happened for a minute: a notice was lost.
  [[nodiscard]] bool wait() const {
    pollfd watched{fd_, POLLIN, 0};
    if (::poll(&watched, 1, 60'000) != 1) return false;
    std::uint64_t count = 0;
    return ::read(fd_, &count, sizeof count) == sizeof count;
  }

 private:
  int fd_ = ::eventfd(0, EFD_CLOEXEC);
};

/// One response, its body and what is to become of it.
struct client {
  client(brio::engine& shared, brio::executor_ref executor, dice& choose, std::size_t number)
      : body(brio::test::text(choose.below(std::size_t{1} << choose.between(4, 18)),
                              choose.below(20))) {
    brotli_options o;
    o.encoding = {static_cast<int>(choose.below(7)), static_cast<int>(choose.between(10, 19))};
    if (choose.one_in(2)) o.length = body.size();
    o.cuts = {static_cast<unsigned>(choose.between(1, 4)), choose.between(1000, 50'000)};
    o.output_limit = choose.between(1, 100'000);
    if (number % 8 == 0) {
      const auto plan = std::make_shared<brio::fault_plan>();
      plan->fail.set(static_cast<long>(1 + number / 8 % 4));
      o.faults = brio::fault_link(plan);
      may_fail = true;
    }
    brio::test::habits manner{.write_size = choose.between(100, 100'000),
                              .waits_for_flush = choose.one_in(2),
                              .keeps_chunks = choose.one_in(3)};
    if (choose.one_in(3)) manner.flush_at = {body.size() / 3, body.size() / 2};
    if (number % 10 == 5) looks_left = static_cast<long>(number / 10 % 5);
    host = std::make_unique<brotli_host>(shared, executor, body, o, manner);
  }

  bytes body;
  bool may_fail = false;
  long looks_left = -1;  // until it leaves; never, when it is negative
  std::unique_ptr<brotli_host> host;
};

struct totals {
  std::size_t whole = 0;
  std::size_t failed = 0;
  std::size_t left = 0;
};

/// Serves `count` responses, `together` of them at a time.
totals serve(brio::engine& shared, brio::thread_pool& pool, const event& done, dice& choose,
             std::size_t count, std::size_t together) {
  totals seen;
  std::vector<std::unique_ptr<client>> clients;
  while (count > 0 || !clients.empty()) {
    for (; count > 0 && clients.size() < together; --count) {
      clients.push_back(std::make_unique<client>(shared, pool, choose, count));
    }
    bool moved = false;
    for (auto& c : clients) {
      if (c->host->ready()) {
        c->host->pump();
        moved = true;
      }
      if (c->host->kept() > 0 && choose.one_in(2)) {
        c->host->send();
        moved = true;
      }
    }
    for (auto& c : clients) {
      if (c->looks_left-- == 0) {
        ++seen.left;
      } else if (c->host->complete()) {
        ++seen.whole;
        REQUIRE(brio::test::brotli_decode(c->host->output()) == c->body);
      } else if (c->host->over()) {
        ++seen.failed;
        REQUIRE(c->may_fail);
        REQUIRE(c->host->failure() == error::encoder_failed);
      } else {
        continue;
      }
      c.reset();
      moved = true;
    }
    std::erase(clients, nullptr);
    pool.complete();
    const bool stuck = std::ranges::none_of(
        clients, [](const auto& c) { return c->host->ready() || c->host->kept() > 0; });
    if (!stuck || moved || clients.empty()) continue;
    REQUIRE(pool.jobs() > 0);
    REQUIRE(done.wait());
  }
  while (pool.jobs() > 0) {
    REQUIRE(done.wait());
    pool.complete();
  }
  return seen;
}

}  // namespace

TEST_CASE("responses on real threads are whole, fail or leave, and nothing is left of them",
          "[stress]") {
  const auto threads = GENERATE(as<std::size_t>{}, 2U, 3U, 4U);
  const auto slots = GENERATE(1U, 3U, 9U);
  const std::uint64_t seed = threads * 100 + slots;
  CAPTURE(threads, slots, seed);
  dice choose(seed);
  const event done;
  brio::engine shared({.slots = slots});
  {
    brio::thread_pool pool(threads, 1, [&] { done.notify(); });
    const totals seen = serve(shared, pool, done, choose, 250, 30);
    CHECK(seen.whole + seen.failed + seen.left == 250);
    CHECK(seen.whole > 100);
    CHECK(seen.failed > 0);
    CHECK(seen.left > 0);
  }
  CHECK(brio::test::at_rest(shared));
  if (slots > threads + 2) CHECK(shared.counters.refusals > 0);
}
