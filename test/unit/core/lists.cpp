#include <ashlar/core/lists.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace ashlar;

namespace {

TEST_CASE("lists by number keep the order of their elements") {
  int const numbers[] = {12, 3, 22, 40, 2, 13};
  lists<int> const by_last_digit(5, [&](auto add) {
    for (int n : numbers) add(n % 10, n);
  });
  CHECK(by_last_digit.size() == 5);
  CHECK((by_last_digit[0].size() == 1 && by_last_digit[0][0] == 40));
  CHECK((by_last_digit[1].empty() && by_last_digit[4].empty()));
  CHECK(by_last_digit[2].size() == 3);  // in the order in which they were added
  CHECK((by_last_digit[2][0] == 12 && by_last_digit[2][1] == 22 && by_last_digit[2][2] == 2));
  CHECK((by_last_digit[3].size() == 2 && by_last_digit[3][0] == 3 && by_last_digit[3][1] == 13));
}

TEST_CASE("lists may be empty, and there may be none") {
  auto const nothing = [](auto) {};
  CHECK((lists<int>().size() == 0 && lists<int>(0, nothing).size() == 0));
  CHECK((lists<int>(2, nothing).size() == 2 && lists<int>(2, nothing)[1].empty()));
}

TEST_CASE("lists that are written one after the other") {
  written_lists<int> made;
  CHECK((made.size() == 0 && made.being_written().empty()));
  made.add(3);
  made.add(5);
  CHECK((made.size() == 0 && made.being_written().size() == 2 && made.being_written()[1] == 5));
  made.end_list();
  made.end_list();
  made.add(7);
  made.end_list();
  CHECK((made.size() == 3 && made.being_written().empty()));
  lists_view<int> const all = made.view();
  CHECK((all.size() == 3 && all[0].size() == 2 && all[0][0] == 3 && all[0][1] == 5));
  CHECK((all[1].empty() && all[2].size() == 1 && all[2][0] == 7));
  written_lists<int> other = made;
  CHECK(other == made);
  other.end_list();
  CHECK(other != made);
}

}  // namespace
