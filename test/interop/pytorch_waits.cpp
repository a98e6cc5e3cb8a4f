// The places where sends are waited for: no wait stalls a rank, and buffers go early.
#include "catalog_cases.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/interop/pytorch_comms.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

using namespace ashlar;

namespace {

csv_tokens tokens_of(std::string const& text) {
  csv_problems problems(1);
  csv_tokens const tokens = read_csv_tokens(text, {}, problems);
  REQUIRE(problems.none());
  return tokens;
}

// One rank runs ahead until it must wait, the others run only when it needs them: the worst case for a
// wait.
class reluctant_ranks {
 public:
  explicit reluctant_ranks(csv_tokens const& tokens) : tokens_(tokens), at_(tokens.lines.size(), 0) {
    for (auto const& line : tokens.lines)
      for (csv_token const& t : line)
        if (t.sends()) sent_.insert(to_string(t));
  }

  // Whether no wait before the rank's last pass has to wait.
  bool runs(std::size_t rank) {
    auto const& line = tokens_.lines[rank];
    std::size_t end = line.size();
    while (!line[end - 1].computes()) --end;
    bool good = true;
    while (at_[rank] < end) {
      csv_token const& t = line[at_[rank]];
      if (t.waits() && t.moves()) good = good && issued_.count(receive_of(t)) > 0;
      step(rank);
    }
    return good;
  }

 private:
  static std::string receive_of(csv_token const& t) {
    return std::to_string(t.other_stage()) + (t.what.kind == pass_kind::forward ? "RECV_F" : "RECV_B")
           + std::to_string(t.what.micro_batch);
  }
  // Runs a rank's next token, after all that it needs.
  void step(std::size_t rank) {
    csv_token const& t = tokens_.lines[rank][at_[rank]];
    if (t.computes() && t.what.kind != pass_kind::backward_weight) {
      bool const forward = t.what.kind == pass_kind::forward;
      std::string const input = std::to_string(t.what.stage + (forward ? -1 : 1))
                                + (forward ? "SEND_F" : "SEND_B") + std::to_string(t.what.micro_batch);
      if (sent_.count(input) > 0) run_until(input);
    }
    if (t.waits() && t.moves()) run_until(receive_of(t));
    issued_.insert(to_string(t));
    ++at_[rank];
  }
  void run_until(std::string const& token) {
    for (std::size_t d = 0; d < at_.size(); ++d)
      if (std::any_of(tokens_.lines[d].begin(), tokens_.lines[d].end(),
                      [&](csv_token const& t) { return to_string(t) == token; }))
        while (issued_.count(token) == 0) step(d);
  }

  csv_tokens const& tokens_;
  std::vector<std::size_t> at_;
  std::set<std::string> sent_, issued_;
};

}  // namespace

TEST_CASE("no wait for a send stalls a rank, however far behind the others are") {
  for (catalog_case const& c : catalog_cases({2, 3, 4}, {8})) {
    CAPTURE(c);
    program const lowered = lower(c.schedule());
    if (!pytorch_obstacle(lowered).empty()) continue;
    csv_tokens const tokens = tokens_of(pytorch_comms_csv(lowered));
    CHECK(tokens.dialect == csv_dialect::waits);
    csv_problems problems(1);
    csv_program const read = read_pytorch_comms(tokens, problems);
    REQUIRE(read.value);
    CHECK(pytorch_obstacle(tokens, *read.value) == "");
    for (std::size_t d = 0; d < tokens.lines.size(); ++d) CHECK(reluctant_ranks(tokens).runs(d));
  }
}

TEST_CASE("few sends are open at a time") {
  for (int m : {8, 32}) {
    program const p = lower(catalog::find("1f1b")->make({devices{2}, micro_batches{m}}));
    for (auto const& line : tokens_of(pytorch_comms_csv(p)).lines) {
      int open = 0, most = 0;
      for (csv_token const& t : line) {
        if (t.sends()) most = std::max(most, ++open);
        if (t.waits() && t.moves()) --open;
      }
      CHECK(open == 0);
      CHECK(most == 2);
    }
  }
}

TEST_CASE("a wait that comes too early is seen") {
  // The wait of rank 0 right after its send needs a receive after a gradient that rank 0 has yet to
  // make.
  program const p = lower(catalog::find("1f1b")->make({devices{2}, micro_batches{2}}));
  std::string text = pytorch_comms_csv(p);
  auto const move = [&](std::string const& wait, std::string const& behind) {
    text.erase(text.find("," + wait), wait.size() + 1);
    text.insert(text.find(behind) + behind.size(), "," + wait);
  };
  move("1WAIT_SEND_B0", "1SEND_B0");
  csv_tokens const early = tokens_of(text);
  CHECK(!reluctant_ranks(early).runs(1));
}
