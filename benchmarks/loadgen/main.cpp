// brio-loadgen: HTTP/1.1 load from one thread, in open and closed loops, reported as JSON.
//
// Exit status: 0 when the run was made (errors of requests are in the report), 1 when it could not be,
// 2 for a command line that was refused.

#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command_line.hpp"
#include "connection.hpp"
#include "epoll_loop.hpp"
#include "realtime.hpp"
#include "report.hpp"
#ifdef BRIO_LOADGEN_URING
#include "uring_loop.hpp"
#endif

namespace {

using namespace brio::loadgen;

/// The streams of one run, their connections, and the coroutines that drive them.
template <class Loop>
class run {
 public:
  explicit run(const run_options& options) : grace_(options.grace), at_end_(options.at_end) {
    const auto begin = clock::now() + std::chrono::milliseconds{20};
    const auto measured = begin + options.warmup;
    for (const auto& stream_of_run : options.streams)
      streams_.push_back(std::make_unique<stream>(
          stream_of_run, span_of_run{begin, measured, measured + options.duration}));
    for (const auto& owner : streams_)
      for (unsigned index = 0; index < owner->options().connections; ++index)
        connections_.push_back(std::make_unique<connection<Loop>>(loop_, *owner));
    end_ = measured + options.duration;
  }

  /// Serves until all requests are answered or the time after the end is over.
  void serve() {
    for (const auto& each : connections_) {
      auto& started = tasks_.emplace_back(each->run());
      if (!started) throw std::bad_alloc();
      started.start();
    }
    const auto finished = [this] {
      while (!tasks_.empty() && tasks_.back().done()) {
        tasks_.back().result();
        tasks_.pop_back();
      }
      return tasks_.empty();
    };
    loop_.run(finished, end_ + grace_);
    if (finished()) return;
    for (const auto& owner : streams_)
      owner->measured.count(outcome::unfinished, owner->tickets.stop());
    for (const auto& each : connections_) each->abandon(at_end_);
    loop_.run(finished, clock::time_point::max());
  }

  void report(std::ostream& out, std::string_view priority) const {
    out << "{\n  \"priority\": \"" << priority << "\",\n  \"backend\": \"" << Loop::name
        << "\",\n  \"cpu_seconds\": " << processor_seconds() << ",\n  \"streams\": [\n";
    const char* separator = "";
    for (const auto& each : streams_) {
      out << separator;
      write_stream(out, *each);
      separator = ",\n";
    }
    out << "\n  ]\n}\n";
  }

 private:
  std::chrono::nanoseconds grace_;
  outcome at_end_;
  clock::time_point end_;
  Loop loop_;
  std::vector<std::unique_ptr<stream>> streams_;
  std::vector<std::unique_ptr<connection<Loop>>> connections_;
  std::vector<brio::task<>> tasks_;
};

template <class Loop>
void measure(const run_options& options, std::string_view priority) {
  run<Loop> load(options);
  load.serve();
  load.report(std::cout, priority);
}

}  // namespace

int main(int count, char** values) {
  try {
    const std::vector<const char*> arguments(values + std::min(count, 1), values + count);
    if (std::any_of(arguments.begin(), arguments.end(),
                    [](std::string_view each) { return each == "--help"; })) {
      std::cout << help();
      return 0;
    }
    const auto options = parse(arguments);
    const auto priority = take_realtime_priority();
#ifdef BRIO_LOADGEN_URING
    if (options.loop == backend::io_uring) {
      measure<uring_loop>(options, priority);
    } else {
      measure<epoll_loop>(options, priority);
    }
#else
    measure<epoll_loop>(options, priority);
#endif
    return std::cout.flush() ? 0 : 1;
  } catch (const usage_error& refused) {
    std::cerr << "brio-loadgen: " << refused.what() << '\n';
    return 2;
  } catch (const std::exception& failure) {
    std::cerr << "brio-loadgen: " << failure.what() << '\n';
    return 1;
  }
}
