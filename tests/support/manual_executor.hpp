// An executor that does what a test tells it, when the test tells it, on the test's thread. A job
// submitted is pending; run() makes it done; complete() hands it back. Both take any job of theirs,
// so that every order of events that threads could bring about can be played.
#pragma once

#include <cstddef>
#include <vector>

#include <brio/async/executor.hpp>

#include "dice.hpp"

namespace brio::test {

class manual_executor {
 public:
  manual_executor() = default;
  manual_executor(const manual_executor&) = delete;
  manual_executor& operator=(const manual_executor&) = delete;
  /// A host lets its executor drain before it destroys it.
  ~manual_executor() { drain(); }

  submission submit(job& j) noexcept {
    ++submissions_;
    if (refuse_all_ || submissions_ == refused_submission_ || refusals_left_ > 0) {
      if (refusals_left_ > 0) --refusals_left_;
      return submission::refused;
    }
    pending_.push_back(&j);
    return submission::accepted;
  }
  [[nodiscard]] bool runs_inline() const noexcept { return false; }

  /// Refuses the next `n` submissions.
  void refuse_next(std::size_t n) { refusals_left_ = n; }
  /// Refuses the `nth` submission, counted from 1 since the beginning.
  void refuse_nth(std::size_t nth) { refused_submission_ = nth; }
  void refuse_all() { refuse_all_ = true; }

  [[nodiscard]] std::size_t submissions() const { return submissions_; }
  /// Jobs not run yet, and jobs run and not completed.
  [[nodiscard]] std::size_t pending() const { return pending_.size(); }
  [[nodiscard]] std::size_t done() const { return done_.size(); }
  [[nodiscard]] bool idle() const { return pending_.empty() && done_.empty(); }

  /// Runs the n-th pending job, in the order of submission.
  void run(std::size_t n = 0) {
    job* j = remove(pending_, n);
    j->run();
    done_.push_back(j);
  }
  /// Completes the n-th done job, in the order in which they were run.
  void complete(std::size_t n = 0) { remove(done_, n)->complete(); }

  /// Runs or completes any one job; there must be one.
  void anything(dice& choose) {
    const std::size_t n = choose.below(pending_.size() + done_.size());
    if (n < pending_.size()) {
      run(n);
    } else {
      complete(n - pending_.size());
    }
  }
  /// First come, first served, until no job is left, those that completions submit included.
  void drain() {
    while (!idle()) {
      if (!pending_.empty()) run();
      complete();
    }
  }

 private:
  static job* remove(std::vector<job*>& jobs, std::size_t n) {
    job* j = jobs.at(n);
    jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(n));
    return j;
  }

  std::vector<job*> pending_;
  std::vector<job*> done_;
  std::size_t submissions_ = 0;
  std::size_t refused_submission_ = 0;
  std::size_t refusals_left_ = 0;
  bool refuse_all_ = false;
};

static_assert(executor<manual_executor>);

}  // namespace brio::test
