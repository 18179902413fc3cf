// A doubly linked list through its elements: no allocation, and an element leaves its list by itself
// when it dies. One thread (the loop's) touches a list and all its elements.
#pragma once

namespace brio {

template <class T>
class intrusive_list;

/// Base of what can stand in one list at a time. The address of a linked element must not change.
class list_hook {
 public:
  list_hook() noexcept = default;
  list_hook(const list_hook&) = delete;
  list_hook& operator=(const list_hook&) = delete;

  [[nodiscard]] bool linked() const noexcept { return next_ != this; }

  void unlink() noexcept {
    prev_->next_ = next_;
    next_->prev_ = prev_;
    prev_ = next_ = this;
  }

 protected:
  ~list_hook() { unlink(); }

 private:
  template <class T>
  friend class intrusive_list;

  list_hook* prev_ = this;
  list_hook* next_ = this;
};

/// A list of T, which derives from list_hook. The list owns nothing; elements left in it when it
/// dies are unlinked.
template <class T>
class intrusive_list {
 public:
  intrusive_list() noexcept = default;
  intrusive_list(const intrusive_list&) = delete;
  intrusive_list& operator=(const intrusive_list&) = delete;
  ~intrusive_list() {
    while (ends_.linked()) ends_.next_->unlink();
  }

  [[nodiscard]] bool empty() const noexcept { return !ends_.linked(); }
  [[nodiscard]] T& front() noexcept { return static_cast<T&>(*ends_.next_); }
  [[nodiscard]] T& back() noexcept { return static_cast<T&>(*ends_.prev_); }

  /// The element behind `element`, or nullptr at the end.
  [[nodiscard]] T* after(T& element) noexcept {
    list_hook* next = static_cast<list_hook&>(element).next_;
    return next == &ends_ ? nullptr : static_cast<T*>(next);
  }

  /// Takes `element` out of any list it is in and puts it last here.
  void push_back(T& element) noexcept { insert_before(ends_, element); }
  /// Takes `element` out of any list it is in and puts it first here.
  void push_front(T& element) noexcept { insert_before(*ends_.next_, element); }

  /// Unlinks and returns the first element; the list must not be empty.
  T& pop_front() noexcept {
    T& first = front();
    first.unlink();
    return first;
  }

 private:
  static void insert_before(list_hook& where, list_hook& hook) noexcept {
    hook.unlink();
    hook.prev_ = where.prev_;
    hook.next_ = &where;
    where.prev_->next_ = &hook;
    where.prev_ = &hook;
  }

  struct ends : list_hook {};
  ends ends_;
};

}  // namespace brio
