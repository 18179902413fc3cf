// How many steps each worker process runs, in shared memory, so that several workers do not start more
// threads' worth of work than there are CPUs.
//
// Each process writes its own slot (its place in nginx's process table) and reads the others'. There is
// no total to go wrong: what a worker that died has left behind counts for a few seconds at most, since
// a count comes with the time when it was written, and running steps end and are counted anew.
#pragma once

#include <brio/limiter.hpp>

#include <array>
#include <atomic>
#include <cstdint>

#include "ngx.hpp"

namespace brio::nginx {

class shared_load final : public peer_load {
 public:
  /// Bytes that it takes in shared memory.
  [[nodiscard]] static std::size_t size() noexcept;
  /// The counts in `memory`: those that are `there` already, from the configuration before, or new
  /// ones. nullptr when there is no memory.
  [[nodiscard]] static void* open(ngx_shm_t& memory, void* there) noexcept;

  /// This process starts, or ends: it runs nothing.
  static void reset() noexcept;

  void publish(unsigned running) noexcept override;
  [[nodiscard]] unsigned others() const noexcept override;

 private:
  struct table {
    std::atomic<ngx_int_t> used;  // slots up to here have been written
    std::array<std::atomic<std::uint64_t>, NGX_MAX_PROCESSES> slots;  // time and count
  };

  /// Milliseconds after which a count no longer counts; a step takes a second or two at the most.
  static constexpr std::uint64_t lifetime = 10'000;
  /// The lower bits of a slot hold the count, those above it the time in milliseconds.
  static constexpr unsigned count_bits = 16;

  static table* table_;
};

}  // namespace brio::nginx
