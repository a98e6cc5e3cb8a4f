#include <ashlar/core/diagnosis.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <string>

using namespace ashlar;

namespace {

TEST_CASE("a diagnosis is plain data") {
  CHECK(diagnosis{}.ok());
  CHECK(!diagnosis{.broken = rule::ticks_fit}.ok());
  CHECK(diagnosis{} == diagnosis{});
  CHECK((site{}.device == -1 && site{}.index == -1));
  diagnosis const none;
  CHECK((none.number == 0 && none.given == 0 && none.needed == 0 && none.of == table::none));
  CHECK(diagnosis{.broken = rule::ticks_fit, .number = 1} != diagnosis{.broken = rule::ticks_fit});
}

TEST_CASE("a violation names its places in parentheses, and closes them") {
  auto const what = [](site first, site second) {
    return std::string(violation({.broken = rule::ticks_fit, .first = first, .second = second}).what());
  };
  std::string const rule_alone = what({}, {});
  CHECK(rule_alone == sentence(rule::ticks_fit));
  for (std::string const& text :
       {what({.device = 0}, {}), what({}, {.device = 0}), what({.device = 0}, {.device = 1})}) {
    CHECK(text.starts_with(rule_alone + " ("));
    CHECK(text.ends_with(")"));
  }
  CHECK(what({.device = 0}, {.device = 1}).find("; ") != std::string::npos);
}

TEST_CASE("every rule has a sentence of its own") {
  std::set<std::string> sentences;
  int const count = rule_count;
  for (int r = 0; r < count; ++r) sentences.insert(sentence(static_cast<rule>(r)));
  CHECK(sentences.size() == static_cast<std::size_t>(count));
  CHECK(!sentences.contains("unknown rule"));
  CHECK(std::strcmp(sentence(static_cast<rule>(count)), "unknown rule") == 0);
}

TEST_CASE("a violation says what is broken") {
  violation const v{{.broken = rule::intervals_agree, .number = 6}};
  CHECK(std::string(v.what()) == sentence(rule::intervals_agree));
  CHECK(v.why.number == 6);
  auto const what = [](site first, site second = {}) {
    std::string const all =
        violation({.broken = rule::intervals_agree, .first = first, .second = second}).what();
    return all.substr(std::strlen(sentence(rule::intervals_agree)));
  };
  CHECK(what({.device = 10}) == " (device 10)");
  CHECK(what({.device = 0, .index = 7, .what = {pass_kind::forward, 3, 12}}, {.device = 2})
        == " (device 0, position 7: stage 3, micro-batch 12; device 2)");
  CHECK(what({}, {.device = 2, .index = 0, .what = part_id{4, 5}})
        == " (device 2, position 0: job 4, part 5)");
}

TEST_CASE("parameters within their bounds, and next to them") {
  parameter const which = parameter::chunk_count;
  CHECK((at_least(which, 3, 3).ok() && at_most(which, 3, 3).ok() && multiple_of(which, 6, 3).ok()));
  CHECK(at_least(which, 2, 3)
        == diagnosis{.broken = rule::parameter_is_at_least, .number = 3, .which = which, .given = 2});
  CHECK(at_most(which, 4, 3)
        == diagnosis{.broken = rule::parameter_is_at_most, .number = 3, .which = which, .given = 4});
  CHECK(multiple_of(which, 7, 3)
        == diagnosis{.broken = rule::parameter_is_a_multiple, .number = 3, .which = which, .given = 7});
  CHECK((multiple_of(which, 7, 0).ok() && multiple_of(which, 7, 1).ok()
         && !multiple_of(which, 7, 2).ok()));
}

}  // namespace
