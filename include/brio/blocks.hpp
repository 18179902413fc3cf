// Blocks: the pieces of memory in which bytes wait, input not yet compressed and output not yet sent.
//
// One pool serves an event loop. It hands out blocks of four sizes and keeps a bounded number of
// bytes of returned ones for the next who asks. The pool and the handles belong to the loop's thread;
// a worker only reads or writes the bytes of blocks that its step was given. The pool must outlive
// its blocks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include <brio/async/intrusive_list.hpp>
#include <brio/memory.hpp>

namespace brio {

class block_pool;

/// A header and, right behind it, `capacity()` bytes.
class block : public list_hook {
 public:
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t room() const noexcept { return capacity_ - size_; }

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data(), size_}; }
  [[nodiscard]] std::span<std::byte> free_space() noexcept { return {data() + size_, room()}; }

  /// Bytes written into free_space(); at most room().
  void grow(std::size_t written) noexcept { size_ += written; }

  /// Copies as much of `bytes` as there is room for and returns how much that was.
  std::size_t append(std::span<const std::byte> bytes) noexcept {
    const std::size_t taken = std::min(bytes.size(), room());
    if (taken > 0) std::memcpy(data() + size_, bytes.data(), taken);
    size_ += taken;
    return taken;
  }

  /// What was written up to the end of this block becomes (input) or is (output) decodable.
  bool flush = false;
  /// The last block of a response's output.
  bool last = false;

 private:
  friend class block_pool;

  explicit block(block_pool& home, std::size_t capacity) noexcept
      : home_(&home), capacity_(capacity) {}
  ~block() = default;

  [[nodiscard]] std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  [[nodiscard]] const std::byte* data() const noexcept {
    return reinterpret_cast<const std::byte*>(this + 1);
  }

  block_pool* home_;
  std::size_t capacity_;
  std::size_t size_ = 0;
};

class block_pool {
 public:
  /// What a block can hold (bytes); a request is rounded up to one of these.
  static constexpr std::array<std::size_t, 4> capacities{
      std::size_t{4} * 1024, std::size_t{16} * 1024, std::size_t{64} * 1024,
      std::size_t{256} * 1024};

  /// Returned blocks kept for later, in bytes.
  static constexpr std::size_t kept_at_most = std::size_t{2} * 1024 * 1024;

  block_pool() noexcept = default;
  block_pool(const block_pool&) = delete;
  block_pool& operator=(const block_pool&) = delete;
  ~block_pool() { trim(); }

  struct give_back {
    void operator()(block* b) const noexcept { b->home_->put(b); }
  };
  using handle = std::unique_ptr<block, give_back>;

  /// A block of the smallest capacity that holds `capacity` bytes (at most the largest one);
  /// empty when there is no memory.
  [[nodiscard]] handle get(std::size_t capacity) noexcept {
    const std::size_t index = class_of(capacity);
    void* place = nullptr;
    if (kept_[index] != nullptr) {
      if (allocation_fails()) return {};
      place = kept_[index];
      kept_[index] = kept_[index]->next;
      kept_bytes_ -= capacities[index];
    } else {
      place = allocate_memory(sizeof(block) + capacities[index]);
      if (place == nullptr) return {};
    }
    used_bytes_ += capacities[index];
    return handle{new (place) block(*this, capacities[index])};
  }

  /// Gives all kept blocks back to the system.
  void trim() noexcept {
    for (std::size_t index = 0; index < capacities.size(); ++index) {
      while (kept_[index] != nullptr) {
        free_block* next = kept_[index]->next;
        free_memory(kept_[index], sizeof(block) + capacities[index]);
        kept_[index] = next;
      }
    }
    kept_bytes_ = 0;
  }

  /// Capacity of the blocks handed out, in bytes.
  [[nodiscard]] std::size_t used_bytes() const noexcept { return used_bytes_; }
  /// Capacity of the blocks kept, in bytes.
  [[nodiscard]] std::size_t kept_bytes() const noexcept { return kept_bytes_; }

 private:
  struct free_block {
    free_block* next;
  };

  static constexpr std::size_t class_of(std::size_t capacity) noexcept {
    std::size_t index = 0;
    while (index + 1 < capacities.size() && capacities[index] < capacity) ++index;
    return index;
  }

  void put(block* b) noexcept {
    const std::size_t capacity = b->capacity_;
    used_bytes_ -= capacity;
    b->~block();
    if (kept_bytes_ + capacity > kept_at_most) {
      free_memory(b, sizeof(block) + capacity);
      return;
    }
    const std::size_t index = class_of(capacity);
    kept_[index] = new (static_cast<void*>(b)) free_block{kept_[index]};
    kept_bytes_ += capacity;
  }

  std::array<free_block*, capacities.size()> kept_{};
  std::size_t kept_bytes_ = 0;
  std::size_t used_bytes_ = 0;
};

using block_handle = block_pool::handle;

/// A queue of blocks that owns them.
class block_queue {
 public:
  block_queue() noexcept = default;
  block_queue(const block_queue&) = delete;
  block_queue& operator=(const block_queue&) = delete;
  ~block_queue() { clear(); }

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  [[nodiscard]] block& front() noexcept { return blocks_.front(); }
  [[nodiscard]] block& back() noexcept { return blocks_.back(); }

  void push(block_handle b) noexcept {
    blocks_.push_back(*b.release());
    ++count_;
  }
  [[nodiscard]] block_handle pop() noexcept {
    --count_;
    return block_handle{&blocks_.pop_front()};
  }
  [[nodiscard]] block_handle pop_back() noexcept {
    --count_;
    block& last = blocks_.back();
    last.unlink();
    return block_handle{&last};
  }
  void clear() noexcept {
    while (!empty()) pop().reset();
  }

 private:
  intrusive_list<block> blocks_;
  std::size_t count_ = 0;
};

}  // namespace brio
