// Where all of brio's memory comes from: coroutine frames, blocks and encoder workspaces.
//
// Small pieces come from malloc. Pieces of 16 KiB and more are mapped on their own, so that giving them
// back gives them back to the system at once, whichever thread does it and whatever lies around them:
// malloc would keep them in the arena of the thread that asked, between pieces still in use. Any thread
// may call these functions; none of them throws.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>

#include <brio/faults.hpp>

namespace brio {

/// From this size on (bytes) a piece is mapped on its own.
inline constexpr std::size_t mapped_from = std::size_t{16} * 1024;

/// `size` bytes, uninitialised, aligned for any type; nullptr when there is no memory.
[[nodiscard]] inline void* allocate_memory(std::size_t size) noexcept {
  if (allocation_fails()) return nullptr;
  if (size < mapped_from) return std::malloc(size);
  void* piece = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return piece == MAP_FAILED ? nullptr : piece;
}

/// Gives back what allocate_memory(size) returned; nullptr is allowed.
inline void free_memory(void* piece, std::size_t size) noexcept {
  if (size < mapped_from) {
    std::free(piece);
  } else if (piece != nullptr) {
    ::munmap(piece, size);
  }
}

}  // namespace brio
