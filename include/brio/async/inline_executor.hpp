// An executor without threads: a job has run when submit() returns. The same engine code then
// compresses in the event loop.
#pragma once

#include <brio/async/executor.hpp>

namespace brio {

class inline_executor {
 public:
  submission submit(job& j) noexcept {
    j.run();
    return submission::ran;
  }
  [[nodiscard]] bool runs_inline() const noexcept { return true; }
};

static_assert(executor<inline_executor>);

}  // namespace brio
