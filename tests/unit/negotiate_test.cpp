#include <brio/negotiate.hpp>

#include <string_view>
#include <vector>

#include "catch.hpp"

namespace {

struct row {
  std::vector<std::string_view> lines;
  bool accepted;
};

constexpr bool takes_br(std::string_view line) {
  brio::accept_encoding field("br");
  field.add(line);
  return field.accepted();
}

}  // namespace

static_assert(takes_br("gzip, br"));
static_assert(!takes_br("gzip, br;q=0"));

TEST_CASE("Accept-Encoding selects br as RFC 9110 says", "[negotiate]") {
  const std::vector<row> table{
      // Absent, empty, others only (12.5.3).
      {{}, false},
      {{""}, false},
      {{" "}, false},
      {{","}, false},
      {{"identity"}, false},
      {{"gzip"}, false},
      {{"gzip, deflate"}, false},
      {{"gzip;q=1.0, deflate;q=0.5"}, false},
      // Named, anywhere in the list.
      {{"br"}, true},
      {{"br, gzip"}, true},
      {{"gzip, br"}, true},
      {{"gzip, br, deflate"}, true},
      {{"gzip,br"}, true},
      {{"gzip,deflate,br,zstd"}, true},
      // Codings are case-insensitive (8.4.1).
      {{"BR"}, true},
      {{"Br"}, true},
      {{"bR;q=0.1"}, true},
      // Names that only look alike.
      {{"brx"}, false},
      {{"xbr"}, false},
      {{"b"}, false},
      {{"br2"}, false},
      {{"x-br"}, false},
      {{"br-x"}, false},
      {{"b r"}, false},
      {{"brotli"}, false},
      {{"gzip;br"}, false},
      {{"\"br\""}, false},
      {{"br=1"}, false},
      // White space around members and weights (5.6.1, 5.6.3).
      {{" br "}, true},
      {{"\tbr\t"}, true},
      {{"gzip\t,\tbr"}, true},
      {{"br ; q=0.5"}, true},
      {{"br\t;\tq=0.5"}, true},
      {{"br;q=0.5 , gzip"}, true},
      {{"br ;\t q=0"}, false},
      {{"\tbr;q=0\t"}, false},
      // Empty members (5.6.1.2).
      {{",br"}, true},
      {{"br,"}, true},
      {{", ,br, ,"}, true},
      {{"gzip,,br"}, true},
      // Weights (12.4.2): 0 refuses, everything above takes.
      {{"br;q=1"}, true},
      {{"br;q=1.0"}, true},
      {{"br;q=1.000"}, true},
      {{"br;q=1."}, true},
      {{"br;q=0.001"}, true},
      {{"br;q=0.1"}, true},
      {{"br;q=0.999"}, true},
      {{"br;q=0"}, false},
      {{"br;q=0."}, false},
      {{"br;q=0.0"}, false},
      {{"br;q=0.00"}, false},
      {{"br;q=0.000"}, false},
      {{"br;Q=0"}, false},
      {{"br;Q=0.5"}, true},
      {{"gzip, br;q=0, deflate"}, false},
      // Malformed weights never select.
      {{"br;"}, false},
      {{"br;q"}, false},
      {{"br;q="}, false},
      {{"br;q=2"}, false},
      {{"br;q=1.001"}, false},
      {{"br;q=1.5"}, false},
      {{"br;q=0.0001"}, false},
      {{"br;q=0.5000"}, false},
      {{"br;q=.5"}, false},
      {{"br;q=-1"}, false},
      {{"br;q=+1"}, false},
      {{"br;q=01"}, false},
      {{"br;q=0,5"}, false},
      {{"br;q=1e1"}, false},
      {{"br;q=a"}, false},
      {{"br;q=0.a"}, false},
      {{"br;q = 1"}, false},
      {{"br;q= 1"}, false},
      {{"br;q =1"}, false},
      {{"br;q=\"1\""}, false},
      {{"br;x=1"}, false},
      {{"br;q=1;x=1"}, false},
      {{"br;x=1;q=1"}, false},
      {{"br;q=1;"}, false},
      {{"br;;q=1"}, false},
      {{"br q=1"}, false},
      {{";q=1"}, false},
      // Any coding, and what a name says about it.
      {{"*"}, true},
      {{"gzip, *"}, true},
      {{"*;q=0.1"}, true},
      {{"*;q=0"}, false},
      {{"*;q=x"}, false},
      {{"**"}, false},
      {{"br;q=0, *"}, false},
      {{"*, br;q=0"}, false},
      {{"br;q=x, *"}, false},
      {{"*;q=0, br"}, true},
      {{"br, *;q=0"}, true},
      {{"*, *;q=0"}, false},
      {{"identity;q=0, *"}, true},
      // Twice: one refusal is enough.
      {{"br, br"}, true},
      {{"br, br;q=0"}, false},
      {{"br;q=0, br"}, false},
      {{"br;q=x, br"}, true},
      // Several lines are one list (5.3).
      {{"gzip", "br"}, true},
      {{"br", "gzip"}, true},
      {{"br", "br;q=0"}, false},
      {{"br;q=0", "*"}, false},
      {{"*", "br;q=0"}, false},
      {{"*;q=0", "br"}, true},
      {{"", "br"}, true},
      {{"b", "r"}, false},
      // Bytes that belong in no field value.
      {{std::string_view("br\0", 3)}, false},
      {{"br\x80"}, false},
      {{"br\r\n"}, false},
  };
  CHECK(table.size() >= 60);
  for (const row& r : table) {
    brio::accept_encoding field("br");
    for (const std::string_view line : r.lines) field.add(line);
    CAPTURE(r.lines);
    CHECK(field.accepted() == r.accepted);
  }
}

TEST_CASE("the coding that is looked for is the caller's choice", "[negotiate]") {
  brio::accept_encoding gzip("gzip");
  gzip.add("br, GZip;q=0.5");
  CHECK(gzip.accepted());
  brio::accept_encoding zstd("zstd");
  zstd.add("br, gzip");
  CHECK_FALSE(zstd.accepted());
}
