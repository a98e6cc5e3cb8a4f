// Division of micro-batches (Oyama, Ben-Nun, Hoefler, Matsuoka: μ-cuDNN, 2018): the least time of one
// kernel under a limit on its workspace, fronts, and workspace pooled between kernels; on times from
// DATA_DIR/*.csv (layer, conv_type, micro_batch, algo, time_ms, workspace_bytes).
#include "../csv.hpp"
#include "../report.hpp"
#include <ashlar/plan.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace ashlar;
using systems::report;
using json = nlohmann::json;

// The reference adds in single precision, up to 256 parts.
constexpr double single_precision = 1e-5;

constexpr double ticks_per_ms = 1e6;
tick ticks_of(double ms) { return static_cast<tick>(std::llround(ms * ticks_per_ms)); }
double ms_of(tick t) { return static_cast<double>(t) / ticks_per_ms; }

// The computed time is infinite where nothing fits, null in the file.
void near_ms(report& r, std::string const& what, double computed, json const& expected) {
  if (expected.is_null() || std::isinf(computed))
    r.same(what + ", nothing fits", std::isinf(computed), expected.is_null());
  else
    r.near(what, computed, expected, single_precision);
}

struct kernel {
  std::string name;
  std::vector<division_option> options;
  std::vector<int> algorithm;  // of each option
};

variant const& as_variant(division const& d) { return d.what; }

class tables {
 public:
  explicit tables(std::string const& folder) {
    for (auto const& file : std::filesystem::directory_iterator(folder))
      if (file.path().extension() == ".csv") read(file.path().string());
  }

  kernel const& of(std::string const& layer, std::string const& type) const {
    for (kernel const& k : all)
      if (k.name == layer + " " + type) return k;
    throw std::runtime_error("no times of " + layer + " " + type);
  }

  std::vector<kernel> all;  // in the order of the table

 private:
  void read(std::string const& path) {
    for (systems::csv_row const& row : systems::read_csv(path)) {
      std::string const name = row.at("layer") + " " + row.at("conv_type");
      auto const place = index_.try_emplace(name, all.size()).first->second;
      if (place == all.size()) all.push_back({.name = name, .options = {}, .algorithm = {}});
      all[place].options.push_back({std::stoi(row.at("micro_batch")),
                                    {.time = ticks_of(std::stod(row.at("time_ms"))),
                                     .memory = std::stoll(row.at("workspace_bytes"))}});
      all[place].algorithm.push_back(std::stoi(row.at("algo")));
    }
  }

  std::map<std::string, std::size_t> index_;
};

part_sizes sizes_of(std::string const& policy) {
  if (policy == "undivided") return part_sizes::undivided;
  if (policy == "powerOfTwo") return part_sizes::powers_of_two;
  if (policy == "all") return part_sizes::all;
  throw std::runtime_error("unknown policy " + policy);
}

// Checks that the division of the file takes what it says there: our table is theirs.
void recount(report& r, std::string const& where, kernel const& k, json const& division) {
  variant sum;
  for (json const& part : division["micro"])
    for (std::size_t i = 0; i < k.options.size(); ++i)
      if (k.options[i].samples == part[0] && k.algorithm[i] == part[1])
        sum = in_turn(sum, k.options[i].what);
  r.near(where + ", time of its parts", ms_of(sum.time), division["time_ms"], single_precision);
  r.same(where + ", workspace of its parts", sum.memory, division["workspace"].get<byte_count>());
}

void check_single(tables const& t, json const& row, report& r) {
  kernel const& k = t.of(row["layer"], row["type"]);
  std::string const policy = row["policy"];
  byte_count const limit = row["limit"];
  std::string const where = k.name + ", " + policy + ", " + std::to_string(limit) + " bytes";
  std::vector<division> const front = divide(row["N"], k.options, sizes_of(policy), limit);
  json const& best = row["best"];
  r.same(where + ", divisions", front.empty(), best.is_null());
  if (front.empty() || best.is_null()) return;
  r.near(where + ", least time", ms_of(front.back().what.time), best["time_ms"], single_precision);
  r.holds(where + ", within the limit", front.back().what.memory <= limit);
  recount(r, where, k, best);
}

// Fronts are step functions, least time by workspace: points that differ by rounding alone count as one.
void check_front(std::string const& where, std::vector<division> const& front,
                 std::vector<std::pair<byte_count, double>> const& expected, report& r) {
  std::map<byte_count, int> steps;
  for (division const& d : front) ++steps[d.what.memory];
  for (auto const& [memory, time] : expected) ++steps[memory];
  for (auto const& [memory, count] : steps) {
    std::string const here = where + ", least time within " + std::to_string(memory) + " bytes";
    int const found = cheapest_within(front, memory, as_variant);
    double least = INFINITY;
    for (auto const& [needs, time] : expected)
      if (needs <= memory && time < least) least = time;
    r.near(here, found < 0 ? INFINITY : ms_of(front[static_cast<std::size_t>(found)].what.time), least,
           single_precision);
  }
}

void check_front(tables const& t, json const& row, report& r) {
  kernel const& k = t.of(row["layer"], row["type"]);
  std::string const policy = row["policy"];
  std::vector<std::pair<byte_count, double>> expected;
  for (json const& point : row["set"]) {
    expected.emplace_back(point["workspace"], point["time_ms"]);
    recount(r, k.name + ", " + policy + ", front", k, point);
  }
  check_front(k.name + ", " + policy, divide(row["N"], k.options, sizes_of(policy), row["limit"]),
              expected, r);
}

// All kernels of the table; the largest size that each has is its micro-batch.
std::vector<std::vector<division>> fronts_of(tables const& t, part_sizes sizes, byte_count limit) {
  std::vector<std::vector<division>> fronts;
  for (kernel const& k : t.all) {
    int n = 0;
    for (division_option const& o : k.options) n = std::max(n, o.samples);
    fronts.push_back(divide(n, k.options, sizes, limit));
  }
  return fronts;
}

double separately(tables const& t, part_sizes sizes, byte_count limit) {
  double sum = 0;
  for (std::vector<division> const& front : fronts_of(t, sizes, limit))
    sum += front.empty() ? INFINITY : ms_of(front.back().what.time);
  return sum;
}

void check_pooled(tables const& t, json const& row, report& r) {
  std::string const policy = row["policy"];
  byte_count const limit = row["total_limit"];
  std::string const where = "pooled, " + policy + ", " + std::to_string(limit) + " bytes";
  std::vector<std::vector<variant>> things;
  bool each_fits = true;
  for (std::vector<division> const& front : fronts_of(t, sizes_of(policy), limit)) {
    things.emplace_back();
    for (division const& d : front) things.back().push_back(d.what);
    each_fits = each_fits && !front.empty();
  }
  choice const best = each_fits ? choose(things, limit) : choice{};
  double const least = best.of.empty() ? INFINITY : ms_of(best.what.time);
  r.holds(where + ", within the pool", best.what.memory <= limit);
  near_ms(r, where + ", least time", least, row["total_time_ms"]);
  near_ms(r, where + ", least time of the solver", least, row["independent_cbc_ms"]);
  byte_count const share = limit / static_cast<byte_count>(t.all.size());
  near_ms(r, where + ", equal shares, undivided", separately(t, part_sizes::undivided, share),
          row["cudnn_equal_split_undivided_ms"]);
  near_ms(r, where + ", equal shares, divided", separately(t, part_sizes::powers_of_two, share),
          row["wr_equal_split_pow2_ms"]);
  r.same(where + ", kernels", t.all.size(), row["kernels"].size());
  byte_count workspace = 0;
  for (std::size_t i = 0; i < row["kernels"].size() && i < t.all.size(); ++i) {
    recount(r, where + ", " + t.all[i].name, t.all[i], row["kernels"][i]);
    workspace += row["kernels"][i]["workspace"].get<byte_count>();
  }
  r.same(where + ", workspace of the reference", workspace, row["total_workspace"].get<byte_count>());
}

// The example of the authors' repository (test/dp.cpp): micro-batches 1, 2, 4 ... 256, a fast algorithm
// of 0.1 b + 0.01 and a slow one of 10 b + 0.1, with b MiB and b bytes, strictly below 64 MiB.
void check_own_table(json const& table, report& r) {
  std::vector<division_option> options;
  for (int b = 1; b <= 256; b *= 2) {
    options.push_back({b, {.time = ticks_of(0.1 * b + 0.01), .memory = byte_count{b} << 20}});
    options.push_back({b, {.time = ticks_of(10.0 * b + 0.1), .memory = b}});
  }
  std::vector<division> const front = divide(256, options, part_sizes::powers_of_two, (64 << 20) - 1);
  json const& expected = table["pareto"];
  r.same("own table, points", front.size(), expected.size());
  std::size_t const n = expected.size();
  for (std::size_t i = 0; i < front.size() && i < n; ++i) {
    json const& point = expected[n - 1 - i];  // the fastest first
    std::string const where = "own table, " + std::to_string(front[i].what.memory) + " bytes";
    r.near(where + ", time", ms_of(front[i].what.time), std::stod(point[0].get<std::string>()), 0,
           0.005);
    r.same(where + ", workspace", front[i].what.memory, point[1].get<byte_count>());
    r.same(where + ", parts", front[i].parts.size(), point[2].get<std::size_t>());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return systems::run(argc, argv, [](json const& gold, std::string const& folder, report& r) {
    tables const t(folder);
    for (json const& row : gold.at("wr")) check_single(t, row, r);
    for (json const& row : gold.at("pareto")) check_front(t, row, r);
    for (json const& row : gold.at("wd")) check_pooled(t, row, r);
    if (gold.contains("repo_test_dp")) check_own_table(gold["repo_test_dp"], r);
  });
}
