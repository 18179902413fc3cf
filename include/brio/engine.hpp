// What the responses of one event loop share.
//
// A host makes one engine for each event loop, on that loop's thread, and destroys it after the last
// response and after its executors have drained. Nothing here is locked: only the loop's thread ever
// touches an engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <thread>

#include <brio/async/run_queue.hpp>
#include <brio/blocks.hpp>
#include <brio/limiter.hpp>
#include <brio/workspace.hpp>

namespace brio {

/// Totals since the engine was made.
struct engine_counters {
  std::uint64_t steps = 0;     ///< encoder steps run, wherever
  std::uint64_t refusals = 0;  ///< steps an executor refused
  std::uint64_t segments = 0;  ///< encoders started
};

class engine {
 public:
  /// `slots`: the most steps that executors run at once (K), by default the CPUs this process may
  /// use.
  explicit engine(unsigned slots = std::thread::hardware_concurrency()) noexcept
      : jobs(queue, slots), workspaces(jobs.slots()) {}
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Gives memory kept for later back to the system; for when the loop has been idle for a while.
  void trim() noexcept {
    workspaces.trim();
    blocks.trim();
  }

  run_queue queue;
  limiter jobs;
  workspace_cache workspaces;
  block_pool blocks;
  engine_counters counters;
};

}  // namespace brio
