// Between nginx's chains and brio's spans and chunks.
//
//   input_chain    buffers that were handed to us and that the engine has not taken yet
//   output_chain   chunks on their way to the client, in buffers of ours
//
// The links of a chain belong to whoever passes it, so both keep links of their own.
#pragma once

#include <brio/response.hpp>

#include <cstddef>
#include <span>

#include "ngx.hpp"

namespace brio::nginx {

class input_chain {
 public:
  explicit input_chain(ngx_pool_t* pool) noexcept : pool_(pool) {}

  /// Adds the buffers of `in` (not their bytes); false when there is no memory.
  [[nodiscard]] bool add(ngx_chain_t* in) noexcept {
    return ngx_chain_add_copy(pool_, &first_, in) == NGX_OK;
  }

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] ngx_buf_t& front() const noexcept { return *first_->buf; }

  /// False for bytes that are only in a file; the copy filter reads those in for us.
  [[nodiscard]] bool readable() const noexcept {
    return ngx_buf_in_memory(&front()) || ngx_buf_size(&front()) == 0;
  }

  /// What is left of the first buffer.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    const ngx_buf_t& b = front();
    if (!ngx_buf_in_memory(&b)) return {};
    return {reinterpret_cast<const std::byte*>(b.pos), static_cast<std::size_t>(b.last - b.pos)};
  }
  /// `count` bytes of the first buffer have been taken; its producer sees that in `pos`.
  void consume(std::size_t count) noexcept { front().pos += count; }

  void pop() noexcept {
    ngx_chain_t* link = first_;
    first_ = link->next;
    ngx_free_chain(pool_, link);
  }

 private:
  ngx_pool_t* pool_;
  ngx_chain_t* first_ = nullptr;
};

class output_chain {
 public:
  explicit output_chain(ngx_pool_t* pool) noexcept : pool_(pool) {}
  output_chain(const output_chain&) = delete;
  output_chain& operator=(const output_chain&) = delete;
  ~output_chain();

  /// Puts `piece` behind what is there; false when there is no memory.
  [[nodiscard]] bool add(chunk piece, bool reuse_marks) noexcept;

  /// The buffers added since the last call, to be passed on, or nullptr.
  [[nodiscard]] ngx_chain_t* take_new() noexcept;

  /// Drops the chunks of buffers that have been sent.
  void reap() noexcept;

  /// Some of the buffers have not been sent yet.
  [[nodiscard]] bool busy() const noexcept { return first_ != nullptr; }

 private:
  struct buffer {
    ngx_buf_t buf;
    ngx_chain_t link;
    chunk piece;
    buffer* next;
  };

  [[nodiscard]] buffer* make(bool mark, bool reuse_marks) noexcept;

  ngx_pool_t* pool_;
  buffer* first_ = nullptr;
  buffer* last_ = nullptr;
  buffer* new_ = nullptr;
  buffer* unused_ = nullptr;
  // Marks are buffers without bytes. They count as sent at once, while the write filter may still
  // point at them, so they wait for their next use until it does not.
  buffer* unused_marks_ = nullptr;
};

}  // namespace brio::nginx
