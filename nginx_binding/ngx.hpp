// nginx's headers, which are C, for the C++ files of the module.
#pragma once

extern "C" {
#include <ngx_config.h>

#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>
#include <ngx_thread_pool.h>
}

// Thread pools are not in every nginx, and what a module was built for need not be what loads it.
extern "C" {
[[gnu::weak]] ngx_thread_pool_t* ngx_thread_pool_add(ngx_conf_t* cf, ngx_str_t* name);
[[gnu::weak]] ngx_thread_pool_t* ngx_thread_pool_get(ngx_cycle_t* cycle, ngx_str_t* name);
[[gnu::weak]] ngx_int_t ngx_thread_task_post(ngx_thread_pool_t* pool, ngx_thread_task_t* task);
}
