#include <ashlar/program/names.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace ashlar;

namespace {

TEST_CASE("passes by their letters") {
  std::string letters;
  for (int k = 0; k < pass_kinds; ++k) letters += letter_of(static_cast<pass_kind>(k));
  CHECK(letters == "FRBIWX");
  CHECK((to_string(pass{pass_kind::forward, 2, 5}) == "2F5" && to_string(part_id{3, 0}) == "3X0"));
}

// Every kind has a name; no two have the same.
TEST_CASE("names of kinds") {
  auto const different = [](auto name_at, int count) {
    std::set<std::string> names;
    for (int k = 0; k < count; ++k) names.insert(name_at(k));
    return static_cast<int>(names.size()) == count && names.count("") == 0;
  };
  CHECK(different([](int k) { return name_of(static_cast<pass_kind>(k)); }, pass_kinds));
  CHECK(different([](int k) { return name_of(static_cast<slot_kind>(k)); }, slot_kinds));
  CHECK(different([](int k) { return name_of(static_cast<opcode>(k)); },
                  static_cast<int>(opcode::reload) + 1));
  CHECK(different([](int k) { return name_of(static_cast<sharding_level>(k)); }, 5));
  CHECK(std::string(name_of(pass_kind::backward_input)) == "backward input");
  CHECK(std::string(name_of(slot_kind::weight_gradient)) == "weight gradient");
  CHECK(std::string(name_of(opcode::optimize)) == "optimize");
  CHECK(std::string(name_of(sharding_level::full)) == "full");
}

TEST_CASE("a line for each instruction") {
  pass const f{pass_kind::forward, 2, 0};
  CHECK(to_string(instruction{.what = f}) == "2F0");
  CHECK(to_string(instruction{.code = opcode::send, .what = f, .peer = 3}) == "send 2F0 to device 3");
  CHECK(to_string(instruction{.code = opcode::receive, .what = f, .peer = 1})
        == "receive 2F0 from device 1");
  CHECK(to_string(instruction{.code = opcode::offload, .what = f}) == "offload 2F0");
  instruction sum{.code = opcode::all_reduce, .what = {pass_kind::backward_weight, 2, 0}};
  sum.group = 2;
  CHECK(to_string(sum) == "all-reduce stage 2");
  sum.group = 5;
  CHECK(to_string(sum) == "all-reduce stage 2 (parameters of group 5)");
  sum.subject = slot_kind::scalar;
  CHECK(to_string(sum) == "all-reduce the gradients' norm");
  instruction clear{.code = opcode::clear, .what = part_id{4, 0}};
  clear.subject = slot_kind::work_state;
  CHECK(to_string(clear) == "clear the state of job 4");
  clear = {.code = opcode::clear, .what = {pass_kind::backward_weight, 2, 0}};
  clear.subject = slot_kind::weight_gradient;
  CHECK(to_string(clear) == "clear stage 2");
}

}  // namespace
