#include "chains.hpp"

#include <new>
#include <utility>

namespace brio::nginx {

output_chain::~output_chain() {
  while (first_ != nullptr) {
    buffer* b = first_;
    first_ = b->next;
    b->~buffer();
  }
}

bool output_chain::add(chunk piece, bool reuse_marks) noexcept {
  const std::span<const std::byte> bytes = piece.bytes();
  buffer* b = make(bytes.empty(), reuse_marks);
  if (b == nullptr) return false;

  b->buf = ngx_buf_t{};
  b->buf.start = b->buf.pos = reinterpret_cast<u_char*>(const_cast<std::byte*>(bytes.data()));
  b->buf.end = b->buf.last = b->buf.pos + bytes.size();
  // Without bytes it must be nothing but a mark, or the write filter takes it for a mistake.
  b->buf.temporary = bytes.empty() ? 0 : 1;
  b->buf.flush = piece.flush() ? 1 : 0;
  b->buf.last_buf = piece.last() ? 1 : 0;
  b->piece = std::move(piece);
  b->next = nullptr;
  b->link = {&b->buf, nullptr};

  if (new_ == nullptr) {
    new_ = b;
  } else {
    last_->link.next = &b->link;
  }
  (first_ == nullptr ? first_ : last_->next) = b;
  last_ = b;
  return true;
}

ngx_chain_t* output_chain::take_new() noexcept {
  return new_ == nullptr ? nullptr : &std::exchange(new_, nullptr)->link;
}

void output_chain::reap() noexcept {
  while (first_ != nullptr && ngx_buf_size(&first_->buf) == 0) {
    buffer* b = first_;
    first_ = b->next;
    const bool mark = b->piece.bytes().empty();
    b->piece = chunk();
    buffer*& unused = mark ? unused_marks_ : unused_;
    b->next = unused;
    unused = b;
  }
}

output_chain::buffer* output_chain::make(bool mark, bool reuse_marks) noexcept {
  buffer** unused = mark ? &unused_marks_ : &unused_;
  if (*unused != nullptr && (!mark || reuse_marks)) {
    buffer* b = *unused;
    *unused = b->next;
    return b;
  }
  void* place = ngx_palloc(pool_, sizeof(buffer));
  return place == nullptr ? nullptr : new (place) buffer{};
}

}  // namespace brio::nginx
