#include <brio/async/intrusive_list.hpp>

#include <memory>
#include <vector>

#include "catch.hpp"

namespace {

struct element : brio::list_hook {
  explicit element(int v) : value(v) {}
  int value;
};

using list = brio::intrusive_list<element>;

std::vector<int> values(list& l) {
  std::vector<int> seen;
  for (element* e = l.empty() ? nullptr : &l.front(); e != nullptr; e = l.after(*e)) {
    seen.push_back(e->value);
  }
  return seen;
}

}  // namespace

TEST_CASE("a list gives its elements in the order they were put in", "[intrusive_list]") {
  element one(1), two(2), three(3);
  list l;
  CHECK(l.empty());
  l.push_back(two);
  l.push_back(three);
  l.push_front(one);
  CHECK(values(l) == std::vector{1, 2, 3});
  CHECK(l.front().value == 1);
  CHECK(l.back().value == 3);
  CHECK(l.pop_front().value == 1);
  CHECK_FALSE(one.linked());
  CHECK(values(l) == std::vector{2, 3});
}

TEST_CASE("an element that dies leaves its list", "[intrusive_list]") {
  element one(1), three(3);
  auto two = std::make_unique<element>(2);
  list l;
  l.push_back(one);
  l.push_back(*two);
  l.push_back(three);
  two.reset();
  CHECK(values(l) == std::vector{1, 3});
}

TEST_CASE("pushing an element moves it, within a list and between lists", "[intrusive_list]") {
  element one(1), two(2);
  list l, other;
  l.push_back(one);
  l.push_back(two);
  l.push_back(one);
  CHECK(values(l) == std::vector{2, 1});
  other.push_front(two);
  CHECK(values(l) == std::vector{1});
  CHECK(values(other) == std::vector{2});
}

TEST_CASE("elements left in a list that dies are free again", "[intrusive_list]") {
  element one(1), two(2);
  {
    list l;
    l.push_back(one);
    l.push_back(two);
  }
  CHECK_FALSE(one.linked());
  CHECK_FALSE(two.linked());
}
