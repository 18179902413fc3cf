// Plays hosts against a manual executor, one event at a time and in random order: a call of a host
// that is ready, a chunk sent, a job run, a job completed. Hosts act only when they are ready, so a
// wake that is missing leaves the play without events.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <vector>

#include <brio/engine.hpp>

#include "dice.hpp"
#include "host.hpp"
#include "manual_executor.hpp"

namespace brio::test {

template <encoder Encoder>
class play {
 public:
  play(manual_executor& executor, dice& choose, std::initializer_list<host<Encoder>*> hosts)
      : executor_(executor), choose_(choose), hosts_(hosts) {}

  /// One event; false when there is none.
  bool event() {
    std::vector<host<Encoder>*> ready;
    std::vector<host<Encoder>*> sending;
    for (host<Encoder>* h : hosts_) {
      if (h->ready()) ready.push_back(h);
      if (h->kept() > 0) sending.push_back(h);
    }
    const std::size_t jobs = executor_.pending() + executor_.done();
    const std::size_t events = ready.size() + sending.size() + jobs;
    if (events == 0) return false;
    const std::size_t n = choose_.below(events);
    if (n < ready.size()) {
      ready[n]->step();
    } else if (n < ready.size() + sending.size()) {
      sending[n - ready.size()]->send();
    } else {
      executor_.anything(choose_);
    }
    return true;
  }

  /// Until nothing is left to happen. Returns the number of events.
  std::size_t run() {
    std::size_t events = 0;
    while (event()) ++events;
    return events;
  }

 private:
  manual_executor& executor_;
  dice& choose_;
  std::vector<host<Encoder>*> hosts_;
};

/// Nothing of any response is left: no block handed out, no slot taken or waited for, no memory
/// promised.
inline bool at_rest(const engine& shared) {
  return shared.blocks.used_bytes() == 0 && shared.jobs.running() == 0 &&
         shared.jobs.waiting() == 0 && shared.memory_budget.reserved() == 0 &&
         shared.memory_budget.claimed() == 0;
}

}  // namespace brio::test
