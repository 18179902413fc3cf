// The distinct bodies of one stream and how often each came, so that whoever runs the generator can
// check every byte that was served under load. Bodies are compared whole, so none hides behind a hash.
//
// At most `most_kept` bodies are held in memory; further distinct ones are only counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace brio::loadgen {

class body_store {
 public:
  static constexpr std::size_t most_kept = 64;

  struct saved {
    std::string file;
    std::size_t bytes;
    std::uint64_t count;
  };

  void add(const std::string& body) {
    const auto known = counts_.find(body);
    if (known != counts_.end()) {
      ++known->second;
    } else if (counts_.size() < most_kept) {
      counts_.emplace(body, 1);
    } else {
      ++not_kept_;
    }
  }

  /// Writes each body to `folder`/`prefix`-N.body, creating the folder. Throws `std::runtime_error`
  /// naming the file that could not be written.
  [[nodiscard]] std::vector<saved> write(const std::filesystem::path& folder,
                                         const std::string& prefix) const {
    std::filesystem::create_directories(folder);
    std::vector<saved> files;
    for (const auto& [body, count] : counts_) {
      auto name = prefix + "-" + std::to_string(files.size()) + ".body";
      std::ofstream file(folder / name, std::ios::binary);
      file.write(body.data(), static_cast<std::streamsize>(body.size()));
      if (!file.flush()) throw std::runtime_error("cannot write " + (folder / name).string());
      files.push_back({std::move(name), body.size(), count});
    }
    return files;
  }

  /// Bodies that were neither kept nor equal to a kept one.
  [[nodiscard]] std::uint64_t not_kept() const noexcept { return not_kept_; }

 private:
  std::unordered_map<std::string, std::uint64_t> counts_;
  std::uint64_t not_kept_ = 0;
};

}  // namespace brio::loadgen
