// Accept-Encoding, any bytes in any number of lines, against the grammar of RFC 9110 as a regular
// expression.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

#include <brio/negotiate.hpp>

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// What the members of that name say.
struct opinion {
  bool listed = false;
  bool wanted = false;
  bool refused = false;
  [[nodiscard]] bool taken() const { return wanted && !refused; }
};

bool expected(const std::vector<std::string>& lines) {
  static const std::regex member(R"([ \t]*(br|\*)[ \t]*(;[^]*)?)", std::regex::icase);
  static const std::regex weight(R"((;[ \t]*q=(0(\.[0-9]{0,3})?|1(\.0{0,3})?)[ \t]*)?)",
                                 std::regex::icase);
  static const std::regex zero(R"(;[ \t]*q=0(\.0*)?[ \t]*)", std::regex::icase);
  opinion br;
  opinion any;
  for (const std::string& line : lines) {
    for (const std::string& text : split(line, ',')) {
      std::smatch found;
      if (!std::regex_match(text, found, member)) continue;
      opinion& o = found[1] == "*" ? any : br;
      o.listed = true;
      const std::string parameter = found[2];
      if (!std::regex_match(parameter, weight)) continue;
      (std::regex_match(parameter, zero) ? o.refused : o.wanted) = true;
    }
  }
  return br.listed ? br.taken() : any.taken();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), std::min<std::size_t>(size, 400));
  std::erase(text, '\0');
  const std::vector<std::string> lines = split(text, '\n');
  brio::accept_encoding read("br");
  for (const std::string& line : lines) read.add(line);
  if (read.accepted() == expected(lines)) return 0;
  std::fprintf(stderr, "read as %d: %s\n", read.accepted(), text.c_str());
  std::abort();
}
