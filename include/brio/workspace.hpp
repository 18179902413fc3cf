// Workspaces: the memory encoders work in, recycled.
//
// An encoder takes its memory from one workspace and gives it back there when it is destroyed. The
// workspace keeps the pieces, so that the next encoder of the same shape finds them mapped and warm:
// at level 9 the hash table alone is 32 MiB, which otherwise is mapped and faulted in anew for each
// response.
//
//   workspace   the pieces of one encoder at a time. Whoever runs the encoder's current step, on the
//               loop or on a worker, allocates from it; never two threads at once.
//   cache       idle workspaces of one event loop; only the loop's thread touches it.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include <brio/async/intrusive_list.hpp>
#include <brio/memory.hpp>

namespace brio {

class workspace : public list_hook {
 public:
  /// An empty workspace, or nullptr when there is no memory.
  [[nodiscard]] static std::unique_ptr<workspace> create() noexcept {
    void* place = allocate_memory(sizeof(workspace));
    return std::unique_ptr<workspace>(place == nullptr ? nullptr : new (place) workspace);
  }
  static void operator delete(void* place) noexcept { free_memory(place, sizeof(workspace)); }
  ~workspace() {
    free_if([](const piece&) { return true; });
  }

  /// `size` bytes aligned for any type, or nullptr; then failed() stays true until the next lease.
  [[nodiscard]] void* allocate(std::size_t size) noexcept {
    piece* found = fitting(size);
    if (found == nullptr) {
      found = add(size);
    } else if (allocation_fails()) {
      found = nullptr;
    }
    if (found == nullptr) {
      failed_ = true;
      return nullptr;
    }
    found->in_use = found->leased = true;
    return found + 1;
  }

  /// Takes back what allocate() gave; nullptr is allowed.
  void release(void* memory) noexcept {
    if (memory != nullptr) (static_cast<piece*>(memory) - 1)->in_use = false;
  }

  /// True when an allocation has failed since the lease began.
  [[nodiscard]] bool failed() const noexcept { return failed_; }

  /// Bytes held, in use or not.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// A number under which the cache finds it again.
  [[nodiscard]] unsigned shape() const noexcept { return shape_; }

 private:
  friend class workspace_cache;

  struct alignas(std::max_align_t) piece {
    piece* next;
    std::size_t size;  // without this header
    bool in_use;
    bool leased;  // used at some time in the current lease
  };

  workspace() noexcept = default;

  /// Nothing is in use, whatever an encoder that failed has left behind.
  void begin_lease(unsigned shape) noexcept {
    shape_ = shape;
    failed_ = false;
    for (piece* p = pieces_; p != nullptr; p = p->next) p->in_use = p->leased = false;
  }

  /// Pieces that the encoder just gone had no use for are not worth keeping.
  void end_lease() noexcept {
    free_if([](const piece& p) { return !p.leased; });
  }

  /// The smallest free piece of at least `size` bytes and at most twice as many.
  [[nodiscard]] piece* fitting(std::size_t size) const noexcept {
    piece* best = nullptr;
    for (piece* p = pieces_; p != nullptr; p = p->next) {
      if (p->in_use || p->size < size || p->size / 2 > size) continue;
      if (best == nullptr || p->size < best->size) best = p;
    }
    return best;
  }

  /// A new piece. Those that the current encoder has given back by now go first: an array that grows
  /// by moving leaves them behind one after the other, each too small for what comes next.
  [[nodiscard]] piece* add(std::size_t size) noexcept {
    free_if([](const piece& p) { return p.leased && !p.in_use; });
    void* place = allocate_memory(sizeof(piece) + size);
    if (place == nullptr) return nullptr;
    pieces_ = new (place) piece{pieces_, size, false, false};
    bytes_ += size;
    return pieces_;
  }

  template <class Predicate>
  void free_if(Predicate unwanted) noexcept {
    for (piece** link = &pieces_; *link != nullptr;) {
      piece* p = *link;
      if (!unwanted(*p)) {
        link = &p->next;
        continue;
      }
      *link = p->next;
      bytes_ -= p->size;
      free_memory(p, sizeof(piece) + p->size);
    }
  }

  piece* pieces_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t counted_ = 0;  // the cache's: bytes_ when it last looked
  unsigned shape_ = 0;
  bool failed_ = false;
};

class workspace_cache {
 public:
  /// Keeps at most `kept_at_most` idle workspaces.
  explicit workspace_cache(std::size_t kept_at_most) noexcept : kept_at_most_(kept_at_most) {}
  workspace_cache(const workspace_cache&) = delete;
  workspace_cache& operator=(const workspace_cache&) = delete;
  ~workspace_cache() { trim(); }

  struct give_back {
    workspace_cache* home = nullptr;
    void operator()(workspace* w) const noexcept { home->put(std::unique_ptr<workspace>(w)); }
  };
  using lease = std::unique_ptr<workspace, give_back>;

  /// A workspace: the idle one last used for this `shape` if there is one. Encoders with the same
  /// shape want the same memory. Empty when there is no memory.
  [[nodiscard]] lease get(unsigned shape) noexcept {
    std::unique_ptr<workspace> found = take_idle(shape);
    if (!found) found = workspace::create();
    if (found) found->begin_lease(shape);
    return lease{found.release(), give_back{this}};
  }

  /// Gives all idle workspaces back to the system.
  void trim() noexcept {
    while (!idle_.empty()) drop_oldest();
  }

  /// Brings the count of a leased workspace's bytes up to date; not while a worker has it.
  void recount(workspace& w) noexcept {
    bytes_ = bytes_ - w.counted_ + w.bytes();
    w.counted_ = w.bytes();
  }

  /// Bytes of the idle workspaces.
  [[nodiscard]] std::size_t idle_bytes() noexcept {
    std::size_t total = 0;
    for (workspace* w = idle_.empty() ? nullptr : &idle_.front(); w != nullptr;
         w = idle_.after(*w)) {
      total += w->bytes();
    }
    return total;
  }

  /// Bytes of all workspaces, leased (when last counted) and idle.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  [[nodiscard]] std::unique_ptr<workspace> take_idle(unsigned shape) noexcept {
    if (idle_.empty()) return nullptr;
    workspace* found = &idle_.front();
    for (workspace* w = found; w != nullptr; w = idle_.after(*w)) {
      if (w->shape() == shape) {
        found = w;
        break;
      }
    }
    found->unlink();
    --idle_count_;
    return std::unique_ptr<workspace>(found);
  }

  void put(std::unique_ptr<workspace> w) noexcept {
    w->end_lease();
    recount(*w);
    ++idle_count_;
    idle_.push_front(*w.release());
    if (idle_count_ > kept_at_most_) drop_oldest();
  }

  void drop_oldest() noexcept {
    std::unique_ptr<workspace> oldest(&idle_.back());
    oldest->unlink();
    --idle_count_;
    bytes_ -= oldest->counted_;
  }

  const std::size_t kept_at_most_;
  std::size_t idle_count_ = 0;
  std::size_t bytes_ = 0;
  intrusive_list<workspace> idle_;
};

}  // namespace brio
