// The only macros of brio. Every other header includes what it needs and defines none.
#pragma once

/// 1 in a fault build (meson -Dfaults=true): jobs can be delayed, refused or failed and allocations
/// made to fail, see faults.hpp. It must be the same in every translation unit of a program.
#ifndef BRIO_FAULTS
#define BRIO_FAULTS 0
#endif
