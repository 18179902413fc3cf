// Real-time priority for a process that measures others.
//
// On a machine whose cores are all taken by the server under test, a generator of normal priority waits
// for a core like everybody and adds that wait to every latency it reports. A fixed priority takes it
// out. It is safe for a process that sleeps most of its time, as this one does.
#pragma once

#include <sched.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace brio::loadgen {

/// Asks for SCHED_FIFO and answers what the process got, in words for the report. Without the right to
/// it (root, CAP_SYS_NICE or RLIMIT_RTPRIO) the process goes on as it was.
[[nodiscard]] inline std::string take_realtime_priority() {
  sched_param wanted{};
  wanted.sched_priority = 10;
  if (::sched_setscheduler(0, SCHED_FIFO, &wanted) == 0) return "SCHED_FIFO 10";
  return "normal (SCHED_FIFO 10: " + std::system_category().message(errno) + ")";
}

}  // namespace brio::loadgen
