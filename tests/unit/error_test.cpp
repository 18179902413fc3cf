#include <brio/error.hpp>

#include <array>
#include <cctype>
#include <set>
#include <string_view>

#include "catch.hpp"

using brio::error;

static_assert(brio::message(error::none) == "no error");

TEST_CASE("each error has a message of its own that fits into a log line", "[error]") {
  constexpr std::array all{error::none, error::out_of_memory, error::over_limit,
                           error::encoder_failed, error::cancelled};
  std::set<std::string_view> messages;
  for (const error e : all) {
    const std::string_view text = brio::message(e);
    REQUIRE_FALSE(text.empty());
    CHECK(std::islower(static_cast<unsigned char>(text.front())));
    CHECK(text.back() != '.');
    messages.insert(text);
  }
  CHECK(messages.size() == all.size());
}
