// What the directives say: one of these for each http, server and location block.
#pragma once

#include "ngx.hpp"
#include "thread_executor.hpp"

namespace brio::nginx {

/// Up to this level work on a short response is cheaper than the way to a thread and back.
inline constexpr ngx_int_t cheap_level = 6;

/// Whether FILE.br is served for FILE: to clients that take br, or to all.
enum class static_mode : unsigned char { off, on, always, unset };

struct location_options {
  ngx_flag_t enabled;
  static_mode static_files;
  ngx_hash_t types;
  ngx_array_t* types_keys;
  ngx_uint_t proxied;              ///< which answers to proxies, see restrictions.hpp
  ngx_flag_t no_transform;         ///< "Cache-Control: no-transform" is honoured
  ssize_t min_length;              ///< bytes; shorter responses of known length stay as they are
  ngx_int_t level;                 ///< 0 to 11
  ngx_int_t window_bits;           ///< 10 to 24
  thread_executor* executor;       ///< nullptr: compress in the event loop
  ngx_int_t tasks;                 ///< 1 to 64
  ssize_t segment_size;            ///< bytes, 64k to 16m
  ngx_flag_t fixed_cuts;           ///< cut at every segment size, whatever the load
  ssize_t thread_pool_min_length;  ///< bytes
};

/// A thread pool that some directive names.
struct named_pool {
  thread_executor* executor;
  ngx_str_t file;  ///< where it is named first
  ngx_uint_t line;
};

/// Kept once for the whole http block.
struct main_options {
  ngx_cycle_t* cycle;         ///< the configuration being read
  ngx_array_t pools;          ///< of named_pool, one for each name
  ngx_int_t jobs;             ///< steps that a worker runs at once, 0 for as many as usable CPUs
  ssize_t memory_limit;       ///< bytes that a worker's engine stays within
  bool warned_about_buffers;  ///< brotli_buffers has had its warning
};

/// The directives, for the module.
extern ngx_command_t commands[];

void* create_main_options(ngx_conf_t* cf) noexcept;
char* init_main_options(ngx_conf_t* cf, void* options) noexcept;
void* create_location_options(ngx_conf_t* cf) noexcept;
char* merge_location_options(ngx_conf_t* cf, void* parent, void* child) noexcept;

/// Looks up the thread pools, once all of the configuration has been read; false, and a message, when
/// one was never declared.
[[nodiscard]] bool find_thread_pools(const main_options& options) noexcept;

[[nodiscard]] const location_options& options_of(ngx_http_request_t* r) noexcept;

}  // namespace brio::nginx
