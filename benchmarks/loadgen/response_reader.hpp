// Reads one HTTP/1.1 response as it comes (RFC 9112): status, headers, and a body that is framed by
// Content-Length, by chunks, or by the end of the connection.
//
// Bytes are pushed in, whatever their boundaries; body bytes go to a sink, without framing. It reads
// no sockets, keeps no body, and names the content coding without decoding it. Lines may end in a bare LF; a line
// longer than 64 KiB is malformed.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace brio::loadgen {

/// Equality that ignores the case of ASCII letters (RFC 9110, 5.1: field names).
[[nodiscard]] inline bool same_ignoring_case(std::string_view left,
                                             std::string_view right) noexcept {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  };
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [lower](char a, char b) { return lower(a) == lower(b); });
}

/// What the header says of the body's coding (RFC 9110, 8.4).
enum class content_coding { identity, brotli, gzip, unknown };

class response_reader {
 public:
  enum class progress { more, complete, malformed };

  /// Takes the next bytes of the connection and calls `sink(std::string_view)` with those that belong
  /// to the body. Bytes after the end of the response are malformed: nothing was asked that they answer.
  template <std::invocable<std::string_view> Sink>
  [[nodiscard]] progress feed(std::string_view bytes, Sink sink) {
    while (!bytes.empty() && state_ != state::broken) {
      if (state_ == state::complete) {
        state_ = state::broken;
      } else if (in_data()) {
        const auto piece =
            bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size())));
        sink(piece);
        bytes.remove_prefix(piece.size());
        consume(piece.size());
      } else {
        bytes.remove_prefix(take_line(bytes));
      }
    }
    return answer();
  }

  /// The peer sent its last byte: the end of a body that is framed so, a cut in any other.
  [[nodiscard]] progress end_of_connection() noexcept {
    state_ =
        state_ == state::until_close || state_ == state::complete ? state::complete : state::broken;
    return answer();
  }

  [[nodiscard]] int status() const noexcept { return status_; }

  /// Known once the first byte of the body is.
  [[nodiscard]] content_coding coding() const noexcept { return coding_; }

  /// Whether another request may follow on this connection once the response is complete.
  [[nodiscard]] bool keeps_connection() const noexcept { return keeps_connection_; }

 private:
  enum class state {
    status_line,
    header,
    counted,
    until_close,
    chunk_size,
    chunk,
    chunk_end,
    trailer,
    complete,
    broken
  };

  [[nodiscard]] bool in_data() const noexcept {
    return state_ == state::counted || state_ == state::until_close || state_ == state::chunk;
  }

  [[nodiscard]] progress answer() const noexcept {
    if (state_ == state::broken) return progress::malformed;
    return state_ == state::complete ? progress::complete : progress::more;
  }

  void consume(std::size_t count) noexcept {
    if (state_ == state::until_close) return;
    left_ -= count;
    if (left_ == 0) state_ = state_ == state::counted ? state::complete : state::chunk_end;
  }

  std::size_t take_line(std::string_view bytes) {
    constexpr std::size_t longest_line = 65536;
    const auto end = bytes.find('\n');
    line_ += bytes.substr(0, end);
    if (line_.size() > longest_line) state_ = state::broken;
    if (end == std::string_view::npos) return bytes.size();
    std::string_view line = line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (state_ != state::broken) state_ = after_line(line);
    line_.clear();
    return end + 1;
  }

  state after_line(std::string_view line) noexcept {
    switch (state_) {
      case state::status_line:
        return after_status_line(line);
      case state::header:
        return line.empty() ? body_state() : after_header(line);
      case state::chunk_size:
        return after_chunk_size(line);
      case state::chunk_end:
        return line.empty() ? state::chunk_size : state::broken;
      case state::trailer:
        return line.empty() ? state::complete : state::trailer;
      default:
        return state::broken;
    }
  }

  state after_status_line(std::string_view line) noexcept {
    constexpr std::string_view version = "HTTP/1.";
    constexpr std::size_t status_at = version.size() + 2;
    if (!line.starts_with(version) || line.size() < status_at + 3) return state::broken;
    keeps_connection_ = line[version.size()] != '0';
    const auto status = number(line.substr(status_at, 3), 10);
    if (!status || *status < 200 || *status > 599) return state::broken;
    status_ = static_cast<int>(*status);
    return state::header;
  }

  state after_header(std::string_view line) noexcept {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return state::broken;
    const auto name = line.substr(0, colon);
    const auto value = trimmed(line.substr(colon + 1));
    if (same_ignoring_case(name, "content-length")) {
      length_ = number(value, 10);
      if (!length_) return state::broken;
    } else if (same_ignoring_case(name, "transfer-encoding")) {
      if (!same_ignoring_case(value, "chunked")) return state::broken;
      chunked_ = true;
    } else if (same_ignoring_case(name, "content-encoding")) {
      coding_ = coding_named(value);
    } else if (same_ignoring_case(name, "connection")) {
      if (same_ignoring_case(value, "close")) keeps_connection_ = false;
      if (same_ignoring_case(value, "keep-alive")) keeps_connection_ = true;
    }
    return state::header;
  }

  state body_state() noexcept {
    if (status_ == 204 || status_ == 304) return state::complete;
    if (chunked_) return state::chunk_size;
    if (length_) {
      left_ = *length_;
      return left_ == 0 ? state::complete : state::counted;
    }
    keeps_connection_ = false;
    left_ = UINT64_MAX;
    return state::until_close;
  }

  state after_chunk_size(std::string_view line) noexcept {
    const auto size = number(trimmed(line.substr(0, line.find(';'))), 16);
    if (!size) return state::broken;
    left_ = *size;
    return left_ == 0 ? state::trailer : state::chunk;
  }

  static content_coding coding_named(std::string_view value) noexcept {
    if (same_ignoring_case(value, "br")) return content_coding::brotli;
    if (same_ignoring_case(value, "gzip")) return content_coding::gzip;
    return content_coding::unknown;
  }

  static std::optional<std::uint64_t> number(std::string_view text, int base) noexcept {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
  }

  static std::string_view trimmed(std::string_view text) noexcept {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
  }

  state state_ = state::status_line;
  std::string line_;
  int status_ = 0;
  bool keeps_connection_ = true;
  bool chunked_ = false;
  content_coding coding_ = content_coding::identity;
  std::optional<std::uint64_t> length_;
  std::uint64_t left_ = 0;
};

}  // namespace brio::loadgen
