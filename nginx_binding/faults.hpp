// Faults by request, in a fault build (meson -Dfaults=true); nothing otherwise.
//
//   X-Brio-Fault: delay=MS refuse=N fail=N alloc=N
//
// any of them: each step waits MS milliseconds on its thread first; the N-th submission of a job is
// refused; the N-th step fails; the N-th allocation for the response fails. N counts from 1, and "*"
// is each.
#pragma once

#include <brio/faults.hpp>

#include "ngx.hpp"

namespace brio::nginx {

#if BRIO_FAULTS
[[nodiscard]] fault_link faults_for(ngx_http_request_t* r) noexcept;
#else
[[nodiscard]] inline fault_link faults_for(ngx_http_request_t*) noexcept { return {}; }
#endif

}  // namespace brio::nginx
