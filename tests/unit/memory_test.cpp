#include <brio/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "catch.hpp"

TEST_CASE("memory is aligned for any type and usable on both sides of the mapping limit",
          "[memory]") {
  for (const std::size_t size : {std::size_t{1}, brio::mapped_from - 1, brio::mapped_from,
                                 brio::mapped_from + 1, std::size_t{5} << 20}) {
    void* piece = brio::allocate_memory(size);
    REQUIRE(piece != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(piece) % alignof(std::max_align_t) == 0);
    std::memset(piece, 0x5a, size);
    CHECK(static_cast<const unsigned char*>(piece)[size - 1] == 0x5a);
    brio::free_memory(piece, size);
  }
}

TEST_CASE("memory that the system does not have is a null pointer", "[memory]") {
  CHECK(brio::allocate_memory(std::size_t{1} << 60) == nullptr);
}
