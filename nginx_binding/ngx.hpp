// nginx's headers, which are C, for the C++ files of the module.
#pragma once

extern "C" {
#include <ngx_config.h>

#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>
#include <ngx_thread_pool.h>
}

#if !(NGX_THREADS)
#error "brio needs an nginx that was configured --with-threads"
#endif
