// Losses and gradients of load balancing, recomputed from the logits of the router; and how much of the
// batch is known when a backward starts, from the schedules.
#include "../report.hpp"
#include "gpt/load_balance.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/values/coverage.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using nlohmann::json;
using numbers = std::vector<double>;

constexpr double precision = 1e-9;

struct micro_batch {
  numbers probabilities;  // tokens x experts
  numbers counts;
};

class router {
 public:
  explicit router(json const& gold)
      : experts_(gold.at("experts")), chosen_(gold.at("topk")), tokens_(gold.at("tokens")) {
    for (json const& rank : gold.at("router_logits")) {
      ranks_.emplace_back();
      for (json const& tokens : rank) ranks_.back().push_back(routed(tokens));
    }
  }

  std::size_t ranks() const { return ranks_.size(); }
  std::size_t micro_batches() const { return ranks_.at(0).size(); }
  micro_batch const& at(std::size_t rank, std::size_t m) const { return ranks_.at(rank).at(m); }

  // Counts of micro-batches first ... last of all ranks.
  numbers counted(std::size_t first, std::size_t last) const {
    numbers sum(static_cast<std::size_t>(experts_), 0.0);
    for (auto const& rank : ranks_)
      for (std::size_t m = first; m <= last; ++m)
        for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += rank.at(m).counts[e];
    return sum;
  }
  // The tokens that were counted follow from the counts.
  gpt::expert_counts of(numbers const& counts) const {
    double routed = 0;
    for (double count : counts) routed += count;
    return {counts, routed / chosen_};
  }

  double loss(std::size_t rank, std::size_t m, numbers const& counts) const {
    gpt::matrix<double const> const probabilities{at(rank, m).probabilities.data(), tokens_, experts_,
                                                  experts_};
    return gpt::load_balance_loss(probabilities, of(counts), chosen_);
  }
  // The gradient by the logits, tokens x experts.
  numbers gradient(std::size_t rank, std::size_t m, numbers const& counts, double weight) const {
    numbers const& probabilities = at(rank, m).probabilities;
    numbers all(probabilities.size(), 0.0);
    for (std::size_t t = 0; t < all.size(); t += static_cast<std::size_t>(experts_))
      gpt::add_load_balance_gradient(&probabilities[t], tokens_, of(counts), chosen_, weight, &all[t]);
    return all;
  }

 private:
  micro_batch routed(json const& tokens) const {
    micro_batch made{{}, numbers(static_cast<std::size_t>(experts_), 0.0)};
    std::vector<int> chosen(static_cast<std::size_t>(chosen_));
    for (json const& token : tokens) {
      auto logits = token.get<numbers>();
      gpt::choose_experts(logits.data(), experts_, chosen);
      for (int e : chosen) ++made.counts[static_cast<std::size_t>(e)];
      gpt::expert_probabilities(logits.data(), experts_, logits.data());
      made.probabilities.insert(made.probabilities.end(), logits.begin(), logits.end());
    }
    return made;
  }

  int experts_, chosen_, tokens_;
  std::vector<std::vector<micro_batch>> ranks_;
};

std::string place(std::string const& what, std::size_t i, std::size_t j) {
  return what + '[' + std::to_string(i) + "][" + std::to_string(j) + ']';
}

void check_losses(json const& gold, router const& of, systems::report& r) {
  std::size_t const last = of.micro_batches() - 1;
  double whole = 0;
  for (std::size_t rank = 0; rank < of.ranks(); ++rank)
    for (std::size_t m = 0; m <= last; ++m) {
      for (std::size_t e = 0; e < of.at(rank, m).counts.size(); ++e)
        r.same(place("counts", rank, m) + '[' + std::to_string(e) + ']', of.at(rank, m).counts[e],
               gold.at("counts")[rank][m][e].get<double>());
      auto const variant = [&](char const* name, numbers const& counts) {
        double const loss = of.loss(rank, m, counts);
        r.near(place(name, rank, m), loss, gold.at(name)[rank][m], precision);
        return loss;
      };
      variant("lbl_micro", of.at(rank, m).counts);
      variant("lbl_dp_synced", of.counted(m, m));
      variant("lbl_running_buffer", of.counted(0, m));
      whole += variant("lbl_global", of.counted(0, last));
    }
  // All have equally many tokens, so the whole batch has the mean of its micro-batches.
  r.near("lbl_whole_batch", whole / static_cast<double>(of.ranks() * (last + 1)),
         gold.at("lbl_whole_batch"), precision);
}

void check_gradients(json const& gold, router const& of, systems::report& r) {
  double const weight = gold.at("coef");
  numbers const all = of.counted(0, of.micro_batches() - 1);
  double micro = 0, global = 0;
  for (std::size_t rank = 0; rank < of.ranks(); ++rank)
    for (std::size_t m = 0; m < of.micro_batches(); ++m) {
      for (double g : of.gradient(rank, m, of.at(rank, m).counts, weight)) micro += g * g;
      for (double g : of.gradient(rank, m, all, weight)) global += g * g;
    }
  r.near("grad_norm_micro", std::sqrt(micro), gold.at("grad_norm_micro"), precision);
  r.near("grad_norm_global", std::sqrt(global), gold.at("grad_norm_global"), precision);
  numbers const first = of.gradient(0, 0, all, weight);
  std::size_t next = 0, token = 0;
  for (json const& row : gold.at("grad_global_rank0_mb0")) {
    std::size_t expert = 0;
    for (json const& g : row)
      r.near(place("grad_global_rank0_mb0", token, expert++), first.at(next++), g, precision, 1e-15);
    ++token;
  }
}

// "1f1b_D4_N8": the catalog's name, devices and micro-batches.
ashlar::schedule schedule_named(std::string const& text) {
  std::size_t const d = text.rfind("_D"), n = text.rfind("_N");
  if (d == std::string::npos || n == std::string::npos || n < d)
    throw std::runtime_error(text + " does not name a schedule");
  std::string name = text.substr(0, d);
  std::replace(name.begin(), name.end(), '_', '-');
  auto const found = ashlar::catalog::find(name);
  if (!found) throw std::runtime_error("there is no schedule " + name);
  return found->make({ashlar::devices{std::stoi(text.substr(d + 2, n - d - 2))},
                      ashlar::micro_batches{std::stoi(text.substr(n + 2))}});
}

void check_coverage(json const& gold, systems::report& r) {
  for (auto const& [name, stages] : gold.at("coverage_when_B_starts").items()) {
    ashlar::schedule const s = schedule_named(name);
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      auto const shares = coverage(s, ashlar::stage_id{static_cast<int>(stage)});
      r.same(place(name + " micro-batches of", stage, 0), shares.size(), stages[stage].size());
      for (std::size_t m = 0; m < shares.size() && m < stages[stage].size(); ++m)
        r.near(place(name, stage, m), shares[m], stages[stage][m], precision);
    }
  }
  for (auto const& [name, stages] : gold.at("coverage_mean_by_stage").items()) {
    ashlar::schedule const s = schedule_named(name);
    int stage = 0;
    for (json const& mean : stages) {  // given to six digits after the point
      r.near(place(name + " mean", static_cast<std::size_t>(stage), 0),
             mean_coverage(s, ashlar::stage_id{stage}), mean, precision, 5.1e-7);
      ++stage;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return systems::run(argc, argv, [](json const& gold, std::string const&, systems::report& r) {
    router const of(gold);
    check_losses(gold, of, r);
    check_gradients(gold, of, r);
    check_coverage(gold, r);
  });
}
