// Compares how often weights are gathered and gradients reduced under full sharding with published
// implementations (data/gold/fsdp.json: orders of passes, and counts a device), and with closed forms of
// the counts.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

using namespace ashlar;
using nlohmann::json;

namespace {

// `3B1`
pass pass_of(std::string const& token) {
  std::size_t const at = token.find_first_of("FRBIW");
  auto const kind = static_cast<pass_kind>(std::string("FRBIW").find(token[at]));
  return {kind, std::stoi(token.substr(0, at)), std::stoi(token.substr(at + 1))};
}

// A token is a pass or a pair, `(0F7;3B1)OVERLAP_F_B`.
schedule schedule_of(json const& g) {
  placement const where(devices{g["p"].get<int>()}, g["placement"].get<std::vector<std::vector<int>>>());
  std::vector<std::vector<pass>> orders;
  std::vector<std::vector<bool>> opens;  // a pair
  for (json const& tokens : g["orders"]) {
    auto& order = orders.emplace_back();
    auto& with = opens.emplace_back();
    for (json const& t : tokens) {
      auto const token = t.get<std::string>();
      if (token[0] != '(') {
        order.push_back(pass_of(token));
        with.push_back(false);
        continue;
      }
      std::size_t const middle = token.find(';'), end = token.find(')');
      order.push_back(pass_of(token.substr(1, middle - 1)));
      order.push_back(pass_of(token.substr(middle + 1, end - middle - 1)));
      with.push_back(true);
      with.push_back(false);
    }
  }
  schedule s = schedule_from_orders(where, g["route"].get<std::vector<int>>(), {}, orders);
  for (std::size_t d = 0; d < s.order.size(); ++d)
    for (std::size_t i = opens[d].size(); i-- > 0;)
      if (opens[d][i]) {
        s.order[d][i].beside = s.order[d][i + 1].what;
        s.order[d].erase(s.order[d].begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
  return squeeze(std::move(s));
}

std::vector<int> counts(program const& p, opcode code) {
  std::vector<int> found;
  for (int d = 0; d < p.device_count(); ++d) {
    found.push_back(0);
    for (instruction const& i : p.view().stream(d)) found.back() += i.code == code;
  }
  return found;
}

}  // namespace

TEST_CASE("gathers and reductions of published implementations") {
  int cases = 0;
  for (json const& g : json::parse(std::ifstream(ASHLAR_TEST_DATA "/gold/fsdp.json"))) {
    ++cases;
    CAPTURE(g["schedule"].get<std::string>());
    CAPTURE(g["case"].get<std::string>());
    schedule const s = schedule_of(g);
    for (int buffers : {1, 2})
      for (int prefetch : {0, 1, 3})
        for (gradient_reduction when : {gradient_reduction::at_end, gradient_reduction::eager}) {
          program const p = lower(s, {.data_ranks = 4,
                                      .reduction = when,
                                      .sharding = sharding_level::full,
                                      .weight_buffers = buffers,
                                      .prefetch = prefetch});
          CHECK(check(p).ok());
          std::string const n = std::to_string(buffers) + "buf";
          CHECK(counts(p, opcode::all_gather) == g["fsdp"]["gathers_" + n].get<std::vector<int>>());
          CHECK(counts(p, opcode::release) == counts(p, opcode::all_gather));
          CHECK(counts(p, opcode::reduce_scatter) == g["fsdp"]["reduces_" + n].get<std::vector<int>>());
        }
  }
  CHECK(cases == 73);
}

TEST_CASE("weights that are kept for a step are gathered once, gradients that are kept scattered once") {
  for (json const& g : json::parse(std::ifstream(ASHLAR_TEST_DATA "/gold/fsdp.json"))) {
    CAPTURE(g["schedule"].get<std::string>());
    schedule const s = schedule_of(g);
    std::vector<int> chunks_here;
    for (int d = 0; d < s.device_count(); ++d)
      chunks_here.push_back(static_cast<int>(stages_on(s.where, d).size()));
    program const state = lower(s, {.data_ranks = 2, .sharding = sharding_level::optimizer});
    program const gradients = lower(s, {.data_ranks = 2, .sharding = sharding_level::gradients});
    for (program const* p : {&state, &gradients}) {
      CHECK(check(*p).ok());
      CHECK(counts(*p, opcode::all_gather) == chunks_here);
    }
    CHECK(counts(state, opcode::reduce_scatter) == chunks_here);
    CHECK(counts(gradients, opcode::reduce_scatter)
          == g["fsdp"]["reduces_1buf"].get<std::vector<int>>());
  }
}

TEST_CASE("breadth-first gathers 2v - 1 times and reduces v times, with two buffers 2v - 2") {
  constexpr auto F = pass_kind::forward, B = pass_kind::backward;
  for (int p = 1; p <= 4; ++p)
    for (int v = 2; v <= 5; ++v)
      for (int m : {p, 2 * p, 2 * p + 1}) {
        CAPTURE(p);
        CAPTURE(v);
        CAPTURE(m);
        std::vector<std::vector<pass>> orders(static_cast<std::size_t>(p));
        for (int d = 0; d < p; ++d) {
          auto& order = orders[static_cast<std::size_t>(d)];
          for (int c = 0; c < v; ++c)
            for (int k = 0; k < m; ++k) order.push_back({F, c * p + d, k});
          for (int c = v; c-- > 0;)
            for (int k = 0; k < m; ++k) order.push_back({B, c * p + d, k});
        }
        schedule const s =
            squeeze(schedule_from_orders(looped(devices{p}, chunks{v}),
                                         std::vector<int>(static_cast<std::size_t>(m), 0), {}, orders));
        for (int buffers : {1, 2}) {
          program const made =
              lower(s, {.data_ranks = 2, .sharding = sharding_level::full, .weight_buffers = buffers});
          auto const devices_all = static_cast<std::size_t>(p);
          CHECK(counts(made, opcode::all_gather) == std::vector<int>(devices_all, 2 * v - buffers));
          CHECK(counts(made, opcode::reduce_scatter) == std::vector<int>(devices_all, v));
        }
      }
}

TEST_CASE("an eager reduction stands after its last weight pass, ahead of what starts later") {
  for (char const* name : {"gpipe", "1f1b", "zb-h1", "v-half"}) {
    schedule const s = catalog::find(name)->make({devices{4}, micro_batches{8}});
    program const p = lower(s, {.data_ranks = 2});
    std::vector<tick> ready(static_cast<std::size_t>(s.stage_count()), 0);
    for (event const& e : events_in_order(s))
      if (e.is_reduction()) ready[static_cast<std::size_t>(e.group)] = e.time;
    for (int d = 0; d < p.device_count(); ++d) {
      std::size_t passes = 0;
      auto const& order = s.order[static_cast<std::size_t>(d)];
      for (instruction const& i : p.view().stream(d)) {
        passes += i.code == opcode::compute;
        if (i.code != opcode::all_reduce) continue;
        tick const time = ready[static_cast<std::size_t>(i.what.stage)];
        CHECK(s.end_of(order[passes - 1], d) >= time);
        if (passes < order.size()) CHECK(order[passes].start >= time);
        CHECK(order[passes - 1].start < time);
      }
    }
  }
}
