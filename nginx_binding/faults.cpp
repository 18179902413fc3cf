#include "faults.hpp"

#if BRIO_FAULTS

#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

#include "headers.hpp"

namespace brio::nginx {
namespace {

long parse_count(std::string_view text) noexcept {
  if (text == "*") return fault_trigger::always;
  long count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

void read_fault(fault_plan& plan, std::string_view word) noexcept {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return;
  const std::string_view name = word.substr(0, equals);
  const long count = parse_count(word.substr(equals + 1));
  if (name == "delay") plan.delay = std::chrono::milliseconds(count);
  if (name == "refuse") plan.refuse.set(count);
  if (name == "fail") plan.fail.set(count);
  if (name == "alloc") plan.allocate.set(count);
}

}  // namespace

fault_link faults_for(ngx_http_request_t* r) noexcept {
  std::shared_ptr<fault_plan> plan;
  for_each_header(r, "x-brio-fault", [&plan](std::string_view value) {
    if (!plan) plan = std::make_shared<fault_plan>();
    while (!value.empty()) {
      const std::size_t space = value.find(' ');
      read_fault(*plan, value.substr(0, space));
      value.remove_prefix(space == std::string_view::npos ? value.size() : space + 1);
    }
  });
  return fault_link(std::move(plan));
}

}  // namespace brio::nginx

#endif
