// All of brio but the thread pool (async/thread_pool.hpp), for hosts that have one already.
#pragma once

#include <brio/async/executor.hpp>
#include <brio/async/inline_executor.hpp>
#include <brio/async/run_queue.hpp>
#include <brio/async/task.hpp>
#include <brio/brotli/encoder.hpp>
#include <brio/engine.hpp>
#include <brio/error.hpp>
#include <brio/negotiate.hpp>
#include <brio/response.hpp>
