// A file descriptor that is closed with its owner.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace brio::loadgen {

class descriptor {
 public:
  /// Takes what a system call gave; throws `std::system_error` naming `what` if that is negative.
  descriptor(int number, const char* what) : number_(number) {
    if (number_ < 0) throw std::system_error(errno, std::system_category(), what);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() { ::close(number_); }

  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

}  // namespace brio::loadgen
