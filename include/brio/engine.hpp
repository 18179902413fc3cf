// What the responses of one event loop share.
//
// A host makes one engine for each event loop, on that loop's thread, and destroys it after the last
// response and after its executors have drained. Nothing here is locked: only the loop's thread ever
// touches an engine.
#pragma once

#include <cstddef>
#include <cstdint>

#include <brio/async/run_queue.hpp>
#include <brio/blocks.hpp>
#include <brio/budget.hpp>
#include <brio/limiter.hpp>
#include <brio/usable_cpus.hpp>
#include <brio/workspace.hpp>

namespace brio {

struct engine_options {
  /// The most steps that executors run at once (K), from 1: by default the CPUs this process may use.
  unsigned slots = usable_cpus();
  /// Memory that the engine is to stay within, in bytes. Where one encoder takes more than that, one
  /// at a time is made all the same.
  std::size_t memory_limit = std::size_t{512} * 1024 * 1024;
  /// Other event loops on the same CPUs, or nullptr; see peer_load.
  peer_load* peers = nullptr;
};

/// Totals since the engine was made.
struct engine_counters {
  std::uint64_t steps = 0;     ///< encoder steps run, wherever
  std::uint64_t refusals = 0;  ///< steps an executor refused
  std::uint64_t encoders = 0;  ///< encoders made
};

class engine {
 public:
  explicit engine(const engine_options& o = {}) noexcept
      : jobs(queue, o.slots, o.peers),
        workspaces(jobs.slots()),
        memory_budget(queue, o.memory_limit, jobs.slots()) {}
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Bytes of blocks and workspaces, in use and kept. Encoders at work are counted after each step.
  [[nodiscard]] std::size_t memory() const noexcept {
    return blocks.used_bytes() + blocks.kept_bytes() + workspaces.bytes();
  }

  /// True while more is held, in use or kept, than the limit: then a response takes a step only when
  /// the host has sent everything before.
  [[nodiscard]] bool over_limit() const noexcept { return memory() > memory_budget.limit(); }

  /// Over the limit, nothing is kept for later.
  void respect_limit() noexcept {
    if (over_limit()) trim();
  }

  /// Gives memory kept for later back to the system; for when the loop has been idle for a while.
  void trim() noexcept {
    workspaces.trim();
    blocks.trim();
  }

  run_queue queue;
  limiter jobs;
  workspace_cache workspaces;
  block_pool blocks;
  budget memory_budget;
  engine_counters counters;
};

}  // namespace brio
