// brio-micro: what the pieces of the engine cost, each against something of the machine's own, as JSON.
//
//   brio-micro SMALL LARGE    two files to compress: jquery and react-dom in the project's own runs

#include <cstddef>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "encoding.hpp"
#include "hop.hpp"
#include "limiter.hpp"
#include "step.hpp"

namespace {

using namespace brio::micro;

std::vector<std::byte> content_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(std::string("cannot read ") + path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

void print(const comparison& result) {
  static const char* separator = "[\n";
  std::cout << separator << "  {\"name\": \"" << result.name
            << "\", \"nanoseconds\": " << result.nanoseconds
            << ", \"reference\": " << result.reference << ", \"ratio\": " << result.ratio << "}";
  separator = ",\n";
}

}  // namespace

int main(int count, char** values) {
  if (count != 3) {
    std::cerr << "usage: brio-micro SMALL LARGE\n";
    return 2;
  }
  try {
    const auto small = content_of(values[1]);
    const auto large = content_of(values[2]);
    print(hop());
    print(step());
    print(limiter_free());
    print(limiter_contended());
    print(lease());
    print(recycling("small file, level 6", small, 6));
    print(recycling("small file, level 9", small, 9));
    print(recycling("large file, level 9", large, 9));
    print(whole_engine("small file, level 6", small, 6));
    print(whole_engine("large file, level 6", large, 6));
    print(two_threads("large file, level 6", large, 6));
    std::cout << "\n]\n";
    return std::cout.flush() ? 0 : 1;
  } catch (const std::exception& failure) {
    std::cerr << "brio-micro: " << failure.what() << '\n';
    return 1;
  }
}
