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
  CHECK(diagnosis{.broken = rule::ticks_fit, .number = 1} != diagnosis{.broken = rule::ticks_fit});
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
}

}  // namespace
