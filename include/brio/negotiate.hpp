// Accept-Encoding: whether a client takes a content coding (RFC 9110, sections 12.4.2 and 12.5.3).
//
// The field is a list over all its lines. A member is a coding with an optional weight; a member that
// does not parse never selects a coding. A coding that is listed by name is taken when all of its
// weights are above 0; one that is not listed is taken when "*" is. Without the field nothing is
// taken: a response need not be coded.
#pragma once

#include <cstddef>
#include <string_view>

namespace brio {

/// Collects the lines of one request's Accept-Encoding field for one coding.
class accept_encoding {
 public:
  /// `coding` in lower case, such as "br". Its characters must outlive the object.
  explicit constexpr accept_encoding(std::string_view coding) noexcept : coding_(coding) {}

  /// Reads the value of one field line.
  constexpr void add(std::string_view line) noexcept {
    while (!line.empty()) {
      const std::size_t comma = line.find(',');
      add_member(trim(line.substr(0, comma)));
      line.remove_prefix(comma == std::string_view::npos ? line.size() : comma + 1);
    }
  }

  /// The verdict on the lines read so far.
  [[nodiscard]] constexpr bool accepted() const noexcept {
    return named_.listed ? named_.wanted && !named_.refused : any_.wanted && !any_.refused;
  }

 private:
  struct verdict {
    bool listed = false;
    bool wanted = false;
    bool refused = false;
  };

  static constexpr bool is_space(char c) noexcept { return c == ' ' || c == '\t'; }
  static constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
  static constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }

  static constexpr std::string_view trim(std::string_view s) noexcept {
    while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
    while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
    return s;
  }

  static constexpr bool same(std::string_view text, std::string_view lower_case) noexcept {
    if (text.size() != lower_case.size()) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (lower(text[i]) != lower_case[i]) return false;
    }
    return true;
  }

  constexpr void add_member(std::string_view member) noexcept {
    const std::size_t semicolon = member.find(';');
    const std::string_view name = trim(member.substr(0, semicolon));
    const bool by_name = same(name, coding_);
    if (!by_name && name != "*") return;
    verdict& v = by_name ? named_ : any_;
    v.listed = true;
    switch (semicolon == std::string_view::npos
                ? weight::some
                : parse_weight(trim(member.substr(semicolon + 1)))) {
      case weight::none:
        v.refused = true;
        break;
      case weight::some:
        v.wanted = true;
        break;
      case weight::malformed:
        break;
    }
  }

  enum class weight { none, some, malformed };

  /// weight = "q=" qvalue, where qvalue is 0 to 1 with at most three decimals (12.4.2).
  static constexpr weight parse_weight(std::string_view text) noexcept {
    if (text.size() < 3 || lower(text[0]) != 'q' || text[1] != '=') return weight::malformed;
    const char whole = text[2];
    std::string_view decimals = text.substr(3);
    if (whole != '0' && whole != '1') return weight::malformed;
    if (!decimals.empty()) {
      if (decimals.front() != '.' || decimals.size() > 4) return weight::malformed;
      decimals.remove_prefix(1);
    }
    bool fraction = false;
    for (const char c : decimals) {
      if (!is_digit(c)) return weight::malformed;
      fraction = fraction || c != '0';
    }
    if (whole == '1') return fraction ? weight::malformed : weight::some;
    return fraction ? weight::some : weight::none;
  }

  std::string_view coding_;
  verdict named_;
  verdict any_;
};

}  // namespace brio
