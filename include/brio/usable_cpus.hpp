// The CPUs that this process may use.
#pragma once

#include <sched.h>

#include <algorithm>

namespace brio {

/// CPUs in the affinity mask of the calling thread (taskset, cpusets), at least 1. Not the same as
/// std::thread::hardware_concurrency(), which counts those of the machine.
[[nodiscard]] inline unsigned usable_cpus() noexcept {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return 1;
  return static_cast<unsigned>(std::max(CPU_COUNT(&mask), 1));
}

}  // namespace brio
