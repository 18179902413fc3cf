// A stream and its connections. Each connection is one coroutine that takes a ticket, waits for its
// start, does the exchange and takes the next, until the schedule ends.
//
// A stream owns what its connections share: schedule, statistics, bodies. A connection owns its socket
// and must outlive its coroutine. All of it belongs to the thread of the loop.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <brio/async/task.hpp>

#include "body_store.hpp"
#include "content_decoder.hpp"
#include "options.hpp"
#include "response_reader.hpp"
#include "schedule.hpp"
#include "statistics.hpp"

namespace brio::loadgen {

class stream {
 public:
  stream(stream_options options, span_of_run run)
      : tickets(options.pace, run), options_(std::move(options)) {
    request_ = "GET " + options_.path + " HTTP/1.1\r\nHost: " + options_.host + "\r\n";
    for (const auto& header : options_.headers) request_ += header + "\r\n";
    request_ += "\r\n";
  }

  schedule tickets;
  statistics measured;
  body_store bodies;

  [[nodiscard]] const stream_options& options() const noexcept { return options_; }
  [[nodiscard]] std::string_view request() const noexcept { return request_; }
  [[nodiscard]] bool keeps_bodies() const noexcept { return !options_.bodies.empty(); }

 private:
  stream_options options_;
  std::string request_;
};

template <class Loop>
class connection {
 public:
  connection(Loop& loop, stream& owner) : loop_(loop), stream_(owner) {}
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// The connection's life. It throws what opening a socket throws.
  [[nodiscard]] task<> run() {
    while (const auto ticket = stream_.tickets.next(clock::now())) {
      co_await loop_.sleep_until(ticket->intended);
      response_ = {};
      const auto request = exchange();
      if (!request) throw std::bad_alloc();
      auto ending = co_await request;
      if (abandoned_ && ending != outcome::complete) ending = *abandoned_;
      if (ending != outcome::complete || !response_.reader.keeps_connection()) close(ending);
      if (ending == outcome::complete && response_.reader.status() >= 400) ending = outcome::status;
      if (ticket->measured) record(ending, ticket->intended);
      if (ending == outcome::connect)
        co_await loop_.sleep_until(clock::now() + pause_after_refusal);
    }
  }

  /// Ends an exchange that is under way, as `ending`. The stream's schedule must be over.
  void abandon(outcome ending) noexcept {
    abandoned_ = ending;
    if (socket_) socket_->shutdown();
  }

 private:
  static constexpr std::chrono::milliseconds pause_after_refusal{10};
  static constexpr std::size_t buffer_size = 65536;
  static constexpr int slow_receive_buffer = 4096;

  /// A slow reader takes what is due in this time at once, so that it neither wakes for each byte nor
  /// stays away for long.
  static constexpr std::size_t slow_reads_per_second = 20;

  struct response {
    response_reader reader;
    std::uint64_t received = 0;
    std::uint64_t body_bytes = 0;
    clock::time_point first_byte{};
    clock::time_point last_byte{};
    std::optional<clock::time_point> first_content;
    std::unique_ptr<content_decoder> decoder;
    bool undecodable = false;
  };

  /// One request and its response, over the open connection or a new one.
  task<outcome> exchange() {
    if (!socket_) {
      socket_.emplace(loop_, stream_.options().read_rate ? slow_receive_buffer : 0);
      const auto refused = co_await socket_->connect(stream_.options().address);
      if (refused != 0) co_return outcome::connect;
    }
    for (auto unsent = stream_.request(); !unsent.empty();) {
      const auto sent = co_await socket_->send(unsent);
      if (sent < 0) co_return outcome::broken;
      unsent.remove_prefix(static_cast<std::size_t>(sent));
    }
    body_.clear();
    auto next_read = clock::now();
    while (!abort_is_due() && !abandoned_) {
      const auto got = co_await socket_->receive(room());
      const auto progress = take(got);
      if (progress == response_reader::progress::complete) co_return outcome::complete;
      if (progress == response_reader::progress::malformed) co_return outcome::broken;
      if (const auto rate = stream_.options().read_rate) {
        // What a late server did not send in time is not made up for.
        next_read = std::max(next_read, response_.last_byte) +
                    std::chrono::nanoseconds{std::chrono::seconds{1}} * got / *rate;
        co_await loop_.sleep_until(next_read);
      }
    }
    co_return outcome::aborted;
  }

  [[nodiscard]] bool abort_is_due() const noexcept {
    const auto limit = stream_.options().abort_after;
    return limit && response_.received >= *limit;
  }

  [[nodiscard]] std::span<char> room() noexcept {
    auto size = buffer_size;
    if (const auto rate = stream_.options().read_rate)
      size = std::clamp<std::size_t>(*rate / slow_reads_per_second, 1, size);
    if (const auto limit = stream_.options().abort_after)
      size = std::min(size, *limit - response_.received);
    return {buffer_.data(), size};
  }

  /// Takes what `receive` answered: bytes, the end of the connection, or an error.
  response_reader::progress take(std::ptrdiff_t got) {
    if (got < 0) return response_reader::progress::malformed;
    if (got == 0) return response_.reader.end_of_connection();
    response_.last_byte = clock::now();
    if (response_.received == 0) response_.first_byte = response_.last_byte;
    response_.received += static_cast<std::uint64_t>(got);
    const auto progress = response_.reader.feed(
        {buffer_.data(), static_cast<std::size_t>(got)}, [this](std::string_view piece) {
          response_.body_bytes += piece.size();
          if (stream_.keeps_bodies()) body_ += piece;
          if (stream_.options().first_content && !response_.first_content) decode(piece);
        });
    return response_.undecodable ? response_reader::progress::malformed : progress;
  }

  /// Decoding ends where the content asked for is there: the rest would only cost the generator time.
  void decode(std::string_view piece) {
    if (!response_.decoder)
      response_.decoder = std::make_unique<content_decoder>(response_.reader.coding());
    if (!response_.decoder->feed(piece)) response_.undecodable = true;
    if (response_.decoder->decoded() >= *stream_.options().first_content)
      response_.first_content = response_.last_byte;
  }

  void record(outcome ending, clock::time_point intended) {
    auto& measured = stream_.measured;
    measured.count(ending);
    measured.last_end = std::max(measured.last_end, clock::now());
    if (ending != outcome::complete) return;
    measured.latency.record(response_.last_byte - intended);
    measured.first_byte.record(response_.first_byte - intended);
    if (stream_.options().first_content)
      measured.first_content.record(response_.first_content.value_or(response_.last_byte) -
                                    intended);
    measured.received += response_.received;
    measured.count_body(response_.body_bytes);
    if (stream_.keeps_bodies()) stream_.bodies.add(body_);
  }

  void close(outcome ending) noexcept {
    if (ending == outcome::aborted && socket_) socket_->reset_on_close();
    socket_.reset();
  }

  Loop& loop_;
  stream& stream_;
  std::optional<typename Loop::socket> socket_;
  std::array<char, buffer_size> buffer_;
  std::string body_;
  response response_;
  std::optional<outcome> abandoned_;
};

}  // namespace brio::loadgen
