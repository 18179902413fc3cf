#include "options.hpp"

#include <brio/brotli/encoder.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <new>
#include <span>

#include "module.hpp"
#include "restrictions.hpp"

namespace brio::nginx {
namespace {

using limits = brotli::encoder_options;

constexpr ssize_t kilobyte = 1024;
constexpr ssize_t megabyte = 1024 * 1024;

/// Limits of a directive's number or size, and how to say them.
struct range {
  ssize_t least;
  ssize_t most;
  const char* allowed;
};

constexpr char* conf_ok = NGX_CONF_OK;

char* conf_error() noexcept { return static_cast<char*>(NGX_CONF_ERROR); }

/// nginx adds " in FILE:LINE".
char* invalid_value(ngx_conf_t* cf, const ngx_command_t* cmd, const ngx_str_t& value,
                    const char* allowed) noexcept {
  ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                     "invalid value \"%V\" in \"%V\" directive, it must be %s", &value, &cmd->name,
                     allowed);
  return conf_error();
}

const ngx_str_t& argument(const ngx_conf_t* cf, ngx_uint_t index) noexcept {
  return static_cast<ngx_str_t*>(cf->args->elts)[index];
}

template <class T>
T& field(void* options, const ngx_command_t* cmd) noexcept {
  return *reinterpret_cast<T*>(static_cast<char*>(options) + cmd->offset);
}

char duplicate[] = "is duplicate";

char* set_number(ngx_conf_t* cf, ngx_command_t* cmd, void* options) noexcept {
  auto& number = field<ngx_int_t>(options, cmd);
  if (number != NGX_CONF_UNSET) return duplicate;
  const auto& bounds = *static_cast<const range*>(cmd->post);
  const ngx_str_t& text = argument(cf, 1);
  const ngx_int_t value = ngx_atoi(text.data, text.len);
  if (value == NGX_ERROR || value < bounds.least || value > bounds.most) {
    return invalid_value(cf, cmd, text, bounds.allowed);
  }
  number = value;
  return conf_ok;
}

char* set_size(ngx_conf_t* cf, ngx_command_t* cmd, void* options) noexcept {
  auto& size = field<ssize_t>(options, cmd);
  if (size != NGX_CONF_UNSET) return duplicate;
  const auto& bounds = *static_cast<const range*>(cmd->post);
  ngx_str_t text = argument(cf, 1);
  const ssize_t value = ngx_parse_size(&text);
  if (value == NGX_ERROR || value < bounds.least || value > bounds.most) {
    return invalid_value(cf, cmd, text, bounds.allowed);
  }
  size = value;
  return conf_ok;
}

char* set_window(ngx_conf_t* cf, ngx_command_t* cmd, void* options) noexcept {
  auto& bits = field<ngx_int_t>(options, cmd);
  if (bits != NGX_CONF_UNSET) return duplicate;
  ngx_str_t text = argument(cf, 1);
  const ssize_t value = ngx_parse_size(&text);
  for (int b = limits::least_window_bits; b <= limits::most_window_bits; ++b) {
    if (value == ssize_t{1} << b) {
      bits = b;
      return conf_ok;
    }
  }
  return invalid_value(cf, cmd, text, "a power of two from 1k to 16m");
}

char* set_segment_size(ngx_conf_t* cf, ngx_command_t* cmd, void* options) noexcept {
  if (char* outcome = set_size(cf, cmd, options); outcome != conf_ok) return outcome;
  auto& fixed = static_cast<location_options*>(options)->fixed_cuts;
  fixed = cf->args->nelts == 3 ? 1 : 0;
  if (fixed == 1 && ngx_strcmp(argument(cf, 2).data, "fixed") != 0) {
    return invalid_value(cf, cmd, argument(cf, 2), "a size, or a size and \"fixed\"");
  }
  return conf_ok;
}

bool equal(const ngx_str_t& one, const ngx_str_t& other) noexcept {
  return one.len == other.len && ngx_strncmp(one.data, other.data, one.len) == 0;
}

std::span<const named_pool> pools_of(const main_options& options) noexcept {
  return {static_cast<const named_pool*>(options.pools.elts), options.pools.nelts};
}

struct static_choice {
  ngx_str_t name;
  static_mode mode;
};

const static_choice static_choices[] = {{ngx_string("on"), static_mode::on},
                                        {ngx_string("off"), static_mode::off},
                                        {ngx_string("always"), static_mode::always}};

char* set_static(ngx_conf_t* cf, ngx_command_t* cmd, void* options) noexcept {
  auto& mode = static_cast<location_options*>(options)->static_files;
  if (mode != static_mode::unset) return duplicate;
  for (const static_choice& choice : static_choices) {
    if (!equal(choice.name, argument(cf, 1))) continue;
    mode = choice.mode;
    return conf_ok;
  }
  return invalid_value(cf, cmd, argument(cf, 1), "\"on\", \"off\" or \"always\"");
}

const proxied_choice proxied_choices[] = {
    {ngx_string("off"), proxied::off},
    {ngx_string("expired"), proxied::expired},
    {ngx_string("no-cache"), proxied::no_cache},
    {ngx_string("no-store"), proxied::no_store},
    {ngx_string("private"), proxied::private_},
    {ngx_string("no_last_modified"), proxied::no_last_modified},
    {ngx_string("no_etag"), proxied::no_etag},
    {ngx_string("auth"), proxied::auth},
    {ngx_string("any"), proxied::any}};

char* set_proxied(ngx_conf_t* cf, ngx_command_t* cmd, void* options) noexcept {
  auto& bits = static_cast<location_options*>(options)->proxied;
  if (bits != 0) return duplicate;
  for (ngx_uint_t i = 1; i < cf->args->nelts; ++i) {
    const auto* choice = std::ranges::find_if(
        proxied_choices, [&](const proxied_choice& c) { return equal(c.name, argument(cf, i)); });
    if (choice == std::end(proxied_choices)) {
      return invalid_value(cf, cmd, argument(cf, i),
                           "some of \"off\", \"expired\", \"no-cache\", \"no-store\", \"private\", "
                           "\"no_last_modified\", \"no_etag\", \"auth\" and \"any\"");
    }
    bits |= choice->bit;
  }
  return conf_ok;
}

char* set_thread_pool(ngx_conf_t* cf, ngx_command_t* cmd, void* options) noexcept {
  const ngx_str_t off = ngx_string("off");
  auto& executor = field<thread_executor*>(options, cmd);
  if (executor != NGX_CONF_UNSET_PTR) return duplicate;
  ngx_str_t name = argument(cf, 1);
  if (name.len == 0) {
    return invalid_value(cf, cmd, name, "the name of a \"thread_pool\", or \"off\"");
  }
  if (equal(name, off)) {
    executor = nullptr;
    return conf_ok;
  }
  if (!thread_executor::available()) {
    return invalid_value(cf, cmd, name, "\"off\": this nginx was built without threads");
  }
  auto* main =
      static_cast<main_options*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_brio_module));
  for (const named_pool& known : pools_of(*main)) {
    if (equal(known.executor->pool_name(), name)) {
      executor = known.executor;
      return conf_ok;
    }
  }
  // This one exists as soon as it is asked for. All others are left to find_thread_pools().
  ngx_str_t ready_made = ngx_string("default");
  if (equal(name, ready_made) && ngx_thread_pool_add(cf, &ready_made) == nullptr) {
    return conf_error();
  }
  void* place = ngx_palloc(cf->pool, sizeof(thread_executor));
  auto* entry = static_cast<named_pool*>(ngx_array_push(&main->pools));
  if (place == nullptr || entry == nullptr) return conf_error();
  executor = new (place) thread_executor(name);
  *entry = {executor, cf->conf_file->file.name, cf->conf_file->line};
  return conf_ok;
}

char* accept_buffers(ngx_conf_t* cf, ngx_command_t* cmd, void* options) noexcept {
  ngx_str_t size = argument(cf, 2);
  const ngx_int_t number = ngx_atoi(argument(cf, 1).data, argument(cf, 1).len);
  if (number == NGX_ERROR || number == 0) {
    return invalid_value(cf, cmd, argument(cf, 1), "a number of buffers from 1, and a size");
  }
  if (ngx_parse_size(&size) <= 0) {
    return invalid_value(cf, cmd, size, "a number of buffers, and a size from 1");
  }
  auto& warned = static_cast<main_options*>(options)->warned_about_buffers;
  if (!warned) {
    ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                       "\"brotli_buffers\" has no effect: output is bounded by brio itself");
    warned = true;
  }
  return conf_ok;
}

const range level_range = {limits::least_quality, limits::most_quality, "a number from 0 to 11"};
const range tasks_range = {1, 64, "a number from 1 to 64"};
const range segment_range = {64 * kilobyte, 16 * megabyte, "a size from 64k to 16m"};
const range jobs_range = {1, 256, "a number from 1 to 256"};
const range memory_range = {16 * megabyte, NGX_MAX_SIZE_T_VALUE / 2, "a size from 16m"};
const range length_range = {0, NGX_MAX_SIZE_T_VALUE / 2, "a size"};

constexpr ngx_uint_t anywhere = NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF;

template <class T>
void* as_post(T& value) noexcept {
  return const_cast<void*>(static_cast<const void*>(&value));
}

}  // namespace

ngx_command_t commands[] = {
    {ngx_string("brotli"), anywhere | NGX_HTTP_LIF_CONF | NGX_CONF_FLAG, ngx_conf_set_flag_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(location_options, enabled), nullptr},

    {ngx_string("brotli_static"), anywhere | NGX_CONF_TAKE1, set_static, NGX_HTTP_LOC_CONF_OFFSET,
     0, nullptr},

    {ngx_string("brotli_types"), anywhere | NGX_CONF_1MORE, ngx_http_types_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(location_options, types_keys),
     &ngx_http_html_default_types[0]},

    {ngx_string("brotli_proxied"), anywhere | NGX_CONF_1MORE, set_proxied, NGX_HTTP_LOC_CONF_OFFSET,
     0, nullptr},

    {ngx_string("brotli_no_transform"), anywhere | NGX_CONF_FLAG, ngx_conf_set_flag_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(location_options, no_transform), nullptr},

    {ngx_string("brotli_min_length"), anywhere | NGX_CONF_TAKE1, set_size, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(location_options, min_length), as_post(length_range)},

    {ngx_string("brotli_comp_level"), anywhere | NGX_CONF_TAKE1, set_number,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(location_options, level), as_post(level_range)},

    {ngx_string("brotli_window"), anywhere | NGX_CONF_TAKE1, set_window, NGX_HTTP_LOC_CONF_OFFSET,
     offsetof(location_options, window_bits), nullptr},

    {ngx_string("brotli_buffers"), anywhere | NGX_CONF_TAKE2, accept_buffers,
     NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},

    {ngx_string("brotli_thread_pool"), anywhere | NGX_CONF_TAKE1, set_thread_pool,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(location_options, executor), nullptr},

    {ngx_string("brotli_thread_pool_min_length"), anywhere | NGX_CONF_TAKE1, set_size,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(location_options, thread_pool_min_length),
     as_post(length_range)},

    {ngx_string("brotli_parallel_tasks"), anywhere | NGX_CONF_TAKE1, set_number,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(location_options, tasks), as_post(tasks_range)},

    {ngx_string("brotli_parallel_segment_size"), anywhere | NGX_CONF_TAKE12, set_segment_size,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(location_options, segment_size), as_post(segment_range)},

    {ngx_string("brotli_parallel_jobs"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, set_number,
     NGX_HTTP_MAIN_CONF_OFFSET, offsetof(main_options, jobs), as_post(jobs_range)},

    {ngx_string("brotli_memory_limit"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, set_size,
     NGX_HTTP_MAIN_CONF_OFFSET, offsetof(main_options, memory_limit), as_post(memory_range)},

    ngx_null_command,
};

void* create_main_options(ngx_conf_t* cf) noexcept {
  auto* options = static_cast<main_options*>(ngx_pcalloc(cf->pool, sizeof(main_options)));
  if (options == nullptr) return nullptr;
  if (ngx_array_init(&options->pools, cf->pool, 2, sizeof(named_pool)) != NGX_OK) return nullptr;
  options->cycle = cf->cycle;
  options->jobs = NGX_CONF_UNSET;
  options->memory_limit = NGX_CONF_UNSET;
  return options;
}

char* init_main_options(ngx_conf_t*, void* conf) noexcept {
  auto& options = *static_cast<main_options*>(conf);
  ngx_conf_init_value(options.jobs, 0);
  ngx_conf_init_value(options.memory_limit, 512 * megabyte);
  return conf_ok;
}

void* create_location_options(ngx_conf_t* cf) noexcept {
  auto* options = static_cast<location_options*>(ngx_pcalloc(cf->pool, sizeof(location_options)));
  if (options == nullptr) return nullptr;
  options->enabled = NGX_CONF_UNSET;
  options->static_files = static_mode::unset;
  options->no_transform = NGX_CONF_UNSET;
  options->min_length = NGX_CONF_UNSET;
  options->level = NGX_CONF_UNSET;
  options->window_bits = NGX_CONF_UNSET;
  options->executor = static_cast<thread_executor*>(NGX_CONF_UNSET_PTR);
  options->tasks = NGX_CONF_UNSET;
  options->segment_size = NGX_CONF_UNSET;
  options->fixed_cuts = NGX_CONF_UNSET;
  options->thread_pool_min_length = NGX_CONF_UNSET;
  return options;
}

char* merge_location_options(ngx_conf_t* cf, void* parent, void* child) noexcept {
  auto& outer = *static_cast<location_options*>(parent);
  auto& inner = *static_cast<location_options*>(child);
  ngx_conf_merge_value(inner.enabled, outer.enabled, 0);
  if (inner.static_files == static_mode::unset) {
    inner.static_files =
        outer.static_files == static_mode::unset ? static_mode::off : outer.static_files;
  }
  if (inner.proxied == 0) inner.proxied = outer.proxied == 0 ? proxied::any : outer.proxied;
  ngx_conf_merge_value(inner.no_transform, outer.no_transform, 0);
  ngx_conf_merge_value(inner.min_length, outer.min_length, 20);
  ngx_conf_merge_value(inner.level, outer.level, 6);
  ngx_conf_merge_value(inner.window_bits, outer.window_bits, 19);
  if (inner.executor == NGX_CONF_UNSET_PTR) {
    inner.executor = outer.executor == NGX_CONF_UNSET_PTR ? nullptr : outer.executor;
  }
  ngx_conf_merge_value(inner.tasks, outer.tasks, 4);
  ngx_conf_merge_value(inner.segment_size, outer.segment_size, megabyte);
  ngx_conf_merge_value(inner.fixed_cuts, outer.fixed_cuts, 0);
  ngx_conf_merge_value(inner.thread_pool_min_length, outer.thread_pool_min_length, kilobyte);
  return ngx_http_merge_types(cf, &inner.types_keys, &inner.types, &outer.types_keys, &outer.types,
                              ngx_http_html_default_types);
}

bool find_thread_pools(const main_options& options) noexcept {
  for (const named_pool& pool : pools_of(options)) {
    if (pool.executor->find_pool(options.cycle)) continue;
    ngx_log_error(NGX_LOG_EMERG, options.cycle->log, 0,
                  "invalid value \"%V\" in \"brotli_thread_pool\" directive, it must be \"off\", "
                  "\"default\", or the name of a \"thread_pool\" declared outside of \"http\" "
                  "in %V:%ui",
                  &pool.executor->pool_name(), &pool.file, pool.line);
    return false;
  }
  return true;
}

const location_options& options_of(ngx_http_request_t* r) noexcept {
  return *static_cast<location_options*>(ngx_http_get_module_loc_conf(r, ngx_http_brio_module));
}

}  // namespace brio::nginx
