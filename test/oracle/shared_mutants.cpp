// Programs whose ranks share, each instruction left out, doubled or moved: every such mutant.
#include "oracle/agreement.hpp"
#include "random_cases.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <utility>

namespace {

using namespace oracle;

constexpr std::size_t opcodes = 10;

struct verdicts {
  std::array<int, opcodes> accepted{}, rejected{};  // by what is changed
};

// One rank stands for all; if that is quick, both are run as well.
void judge_mutant(program const& p, opcode changed, std::string const& how, verdicts& found) {
  opinions const o = ask(p);
  auto const code = static_cast<std::size_t>(changed);
  ++(o.proof.ok() ? found.accepted : found.rejected)[code];
  bool const small = o.oracle.states < 60;
  bool const agree = o.agree() && (!small || machine(p, 2).explore().good == o.oracle.good);
  if (!agree) FAIL_CHECK(how << '\n' << written_out(o) << written_out(p));
}

// Calls change(stream, position) for every position; false: there is nothing to change there.
template <class Change>
verdicts judge_all(char const* name, Change change) {
  verdicts found;
  std::array<int, opcodes> seen{};
  for (sample const& s : shared()) {
    draft const right(s.made);
    draft mutant = right;
    for (int d = 0; d < s.made.device_count(); ++d)
      for (std::size_t at = 0; at < s.made.view().stream(d).size(); ++at) {
        mutant = right;
        opcode const code = mutant.stream(d)[at].what.code;
        if (!change(mutant.stream(d), at) || !is_long_case_run(seen[static_cast<std::size_t>(code)]++))
          continue;
        judge_mutant(mutant.assemble(), code,
                     s.name + ", " + name + ' ' + std::to_string(d) + '[' + std::to_string(at) + ']',
                     found);
      }
  }
  return found;
}

}  // namespace

TEST_CASE("what ranks share: no instruction may be left out") {
  verdicts const found = judge_all("without", [](std::vector<line>& stream, std::size_t at) {
    stream.erase(stream.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  });
  for (std::size_t code = 0; code < opcodes; ++code) {
    CAPTURE(code);
    CHECK(found.accepted[code] == 0);
    CHECK(found.rejected[code] > 0);
  }
}

TEST_CASE("what ranks share: no instruction may be doubled, there or at the end") {
  for (bool at_the_end : {false, true}) {
    verdicts const found = judge_all("twice", [=](std::vector<line>& stream, std::size_t at) {
      auto const behind = static_cast<std::ptrdiff_t>(at_the_end ? stream.size() : at + 1);
      stream.insert(stream.begin() + behind, line(stream[at]));
      return true;
    });
    for (std::size_t code = 0; code < opcodes; ++code) {
      CAPTURE(code);
      CHECK(found.accepted[code] == 0);
      CHECK(found.rejected[code] > 0);
    }
  }
}

TEST_CASE("what ranks share: neighbours change places") {
  verdicts const found = judge_all("swapped after", [](std::vector<line>& stream, std::size_t at) {
    if (at + 1 == stream.size()) return false;
    std::swap(stream[at], stream[at + 1]);
    return true;
  });
  for (std::size_t code = 0; code < opcodes; ++code) {
    CAPTURE(code);
    // A measurement is needed by the sum after it; steps are independent.
    if (static_cast<opcode>(code) != opcode::optimize) CHECK(found.rejected[code] > 0);
    if (static_cast<opcode>(code) != opcode::measure) CHECK(found.accepted[code] > 0);
  }
}

TEST_CASE("what ranks share: each instruction first and last of its stream") {
  for (bool first : {false, true}) {
    verdicts const found = judge_all("moved", [=](std::vector<line>& stream, std::size_t at) {
      line const l = stream[at];
      if (at == (first ? 0 : stream.size() - 1)) return false;
      stream.erase(stream.begin() + static_cast<std::ptrdiff_t>(at));
      stream.insert(first ? stream.begin() : stream.end(), l);
      return true;
    });
    for (auto code : {opcode::compute, opcode::all_reduce, opcode::reduce_scatter, opcode::measure})
      CHECK(found.rejected[static_cast<std::size_t>(code)] > 0);
  }
}
