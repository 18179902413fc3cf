#include <brio/brio.hpp>

#include "bytes.hpp"
#include "catch.hpp"
#include "host.hpp"
#include "store_encoder.hpp"

using brio::test::bytes;
using brio::test::host;
using brio::test::store_encoder;

TEST_CASE("an engine has a slot for each CPU unless it is told otherwise", "[engine]") {
  CHECK(brio::engine().jobs.slots() >= 1);
  CHECK(brio::engine({.slots = 3}).jobs.slots() == 3);
}

TEST_CASE("an engine counts the steps and the segments of its responses", "[engine]") {
  brio::engine shared({.slots = 2});
  brio::inline_executor executor;
  const bytes body = brio::test::text(64 * 3 + 1, 1);
  for (int i = 0; i < 2; ++i) {
    host<store_encoder> h(shared, executor, body, {});
    h.pump();
    REQUIRE(h.complete());
  }
  CHECK(shared.counters.steps == 8);
  CHECK(shared.counters.encoders == 2);
  CHECK(shared.counters.refusals == 0);
}

TEST_CASE("an engine keeps memory for the next response until it is trimmed", "[engine]") {
  brio::engine shared({.slots = 2});
  brio::inline_executor executor;
  const bytes body = brio::test::text(1000, 1);
  {
    host<brio::brotli::encoder> h(shared, executor, body, {});
    h.pump();
    REQUIRE(h.complete());
  }
  CHECK(shared.blocks.used_bytes() == 0);
  CHECK(shared.blocks.kept_bytes() > 0);
  CHECK(shared.workspaces.idle_bytes() > 0);
  shared.trim();
  CHECK(shared.blocks.kept_bytes() == 0);
  CHECK(shared.workspaces.idle_bytes() == 0);
}
