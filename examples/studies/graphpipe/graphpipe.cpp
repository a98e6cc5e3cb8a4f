// GraphPipe: the authors' strategies, their rule for samples in flight, and schedules of stage graphs
// against those of the same stages as a chain.
#include "../report.hpp"
#include <ashlar/catalog/graphs.hpp>
#include <ashlar/model/in_flight.hpp>
#include <ashlar/model/operator_partition.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace ashlar;
using nlohmann::json;

// Stages as a file numbers them, so that edges may descend.
struct named_stages {
  stage_graph graph;
  std::vector<int> number;  // in the graph

  std::size_t operator()(std::size_t stage) const { return static_cast<std::size_t>(number[stage]); }
};

using neighbours = std::map<int, std::vector<int>>;

neighbours neighbours_of(json const& succ) {
  neighbours found;
  for (auto const& [stage, after] : succ.items())
    found[std::stoi(stage)] = after.get<std::vector<int>>();
  return found;
}

named_stages stages_of(neighbours const& succ) {
  std::vector<stage_edge> edges;
  int const count = static_cast<int>(succ.size());
  for (auto const& [stage, after] : succ)
    for (int to : after) {
      if (stage < 0 || to < 0 || stage >= count || to >= count)
        throw std::runtime_error("an edge names a stage that there is not");
      edges.push_back({stage, to});
    }
  named_stages s{.graph = {}, .number = ascending_numbers(count, edges)};
  for (int number : s.number)
    if (number < 0) throw std::runtime_error(sentence(rule::stages_have_no_cycle));
  for (stage_edge& e : edges)
    e = {static_cast<int>(s(static_cast<std::size_t>(e.from))),
         static_cast<int>(s(static_cast<std::size_t>(e.to)))};
  s.graph = stage_graph(stages{count}, edges);
  return s;
}

// Sizes and k of stages, in the order of the file.
struct batching {
  std::vector<int> size, k;
};

stage_graph with_sizes(named_stages const& s, batching const& b) {
  std::vector<int> sizes(b.size.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[s(i)] = b.size[i];
  return in_micro_batches(s.graph, sizes);
}

// Samples in flight, in the order of the file.
std::vector<std::int64_t> samples_in_flight(named_stages const& s, batching const& b) {
  std::vector<int> k(b.k.size());
  for (std::size_t i = 0; i < k.size(); ++i) k[s(i)] = b.k[i];
  std::vector<std::int64_t> const units = in_flight(with_sizes(s, b), k);
  std::vector<std::int64_t> named(units.size());
  for (std::size_t i = 0; i < named.size(); ++i) named[i] = units[s(i)];
  return named;
}

// The most samples that each stage holds in the kFkB schedule of a batch that is long enough.
std::vector<std::int64_t> samples_held(named_stages const& s, batching const& b) {
  int const unit = std::accumulate(b.size.begin(), b.size.end(), 0, std::gcd<int, int>);
  batching small = b;
  std::vector<int> k(b.k.size());
  for (std::size_t i = 0; i < k.size(); ++i) {
    small.size[i] /= unit;
    k[s(i)] = b.k[i];
  }
  stage_graph const graph = with_sizes(s, small);
  std::int64_t most = 1;
  for (std::int64_t w : in_flight(graph, k)) most = std::max(most, w);
  int const batch = static_cast<int>(2 * most) / graph.together() * graph.together() + graph.together();
  schedule const made = catalog::k_f_k_b(graph, linear(devices{graph.count()}), micro_batches{batch}, k);
  if (!check(made).ok()) throw std::runtime_error(sentence(check(made).broken));
  std::vector<int> const peaks = peak_activations(made);
  std::vector<std::int64_t> named(peaks.size());
  for (std::size_t i = 0; i < named.size(); ++i) named[i] = std::int64_t{peaks[s(i)]} * b.size[i];
  return named;
}

// The declared stages are those of the operators; or, of a sequential pipeline, a chain that no edge of
// operators goes back on.
void check_operators(systems::report& r, std::string const& name, json const& strategy,
                     stage_graph const& operators, neighbours const& declared) {
  auto const stage_of = strategy.at("op_stage").get<std::vector<int>>();
  diagnosis const d = check_partition(operators, stage_of);
  r.same(name + ": stages are convex and in no cycle", std::string(sentence(d.broken)),
         std::string(sentence(rule::none)));
  if (!d.ok()) return;
  operator_partition const made = partitioned(operators, stage_of);
  neighbours computed;
  std::vector<int> named(made.number.size());
  for (std::size_t i = 0; i < named.size(); ++i)
    named[static_cast<std::size_t>(made.number[i])] = static_cast<int>(i);
  for (int stage = 0; stage < made.graph.count(); ++stage) {
    auto& after = computed[named[static_cast<std::size_t>(stage)]];
    for (int to : made.graph.successors(stage)) after.push_back(named[static_cast<std::size_t>(to)]);
    std::sort(after.begin(), after.end());
  }
  if (computed == declared) return r.holds(name + ": stage graph", true);
  named_stages const stages = stages_of(declared);
  bool follows = stages.graph == chain(ashlar::stages{stages.graph.count()})
                 && stages.graph.count() == made.graph.count();
  for (auto const& [from, after] : computed)
    for (int to : after)
      follows = follows && stages(static_cast<std::size_t>(from)) < stages(static_cast<std::size_t>(to));
  r.holds(name + ": stage graph is that of the operators, or a chain in their order", follows);
}

void check_strategy(systems::report& r, json const& strategy, json const& gold) {
  std::string const file = strategy.at("file");
  neighbours const declared = neighbours_of(strategy.at("stage_succ"));
  named_stages const stages = stages_of(declared);
  batching b;
  std::vector<std::int64_t> given;
  for (json const& stage : strategy.at("stages")) {
    b.size.push_back(stage.at("micro_batch"));
    b.k.push_back(stage.at("kFkB"));
    given.push_back(stage.at("inflight_samples"));
  }
  std::vector<std::int64_t> const computed = samples_in_flight(stages, b);
  auto const held = samples_held(stages, b);
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::string const which = file + ", stage " + std::to_string(i);
    r.same(which + ", samples in flight", computed[i], given[i]);
    r.same(which + ", samples in flight by rule", computed[i],
           strategy.at("rule_inflight").at(i).get<std::int64_t>());
    r.same(which + ", samples held by the schedule", held[i], given[i]);
  }
  r.same(file + ", rule matches", computed == given, strategy.at("match").get<bool>());
  r.same(file + ", depth", depth(stages.graph), strategy.at("depth").get<int>());

  // The edges of operators of a model that the file lists.
  auto const slash = file.rfind('/');
  std::string const folder = slash == std::string::npos ? "" : file.substr(0, slash);
  std::string const model = folder.substr(folder.rfind('/') + 1);
  if (!gold.contains(model + "_edges")) return;
  std::vector<stage_edge> edges;
  for (json const& e : gold.at(model + "_edges")) edges.push_back({e.at(0), e.at(1)});
  int const count = static_cast<int>(strategy.at("op_stage").size());
  check_operators(r, file, strategy, stage_graph(ashlar::stages{count}, edges), declared);
}

void check_figure(systems::report& r, json const& figure) {
  auto const sizes = figure.at("per_stage").get<std::vector<int>>();
  std::vector<int> const once(sizes.size(), 1);
  int const largest = *std::max_element(sizes.begin(), sizes.end());
  stage_graph const line = chain(stages{static_cast<int>(sizes.size())});
  auto const with = [&](std::vector<int> const& each) {
    return in_flight(in_micro_batches(line, each), once);
  };
  auto const own = with(sizes), uniform = with(std::vector<int>(sizes.size(), largest));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    r.same("figure 5, in flight at stage " + std::to_string(i), own[i],
           figure.at("inflight").at(i).get<std::int64_t>());
    r.same("figure 5, uniform, at stage " + std::to_string(i), uniform[i],
           figure.at("uniform" + std::to_string(largest)).at(i).get<std::int64_t>());
  }
}

void check_makespans(systems::report& r, json const& run) {
  named_stages const stages = stages_of(neighbours_of(run.at("succ")));
  int const count = stages.graph.count(), m = run.at("n_micro");
  tick const forward = run.at("t_f"), backward = run.at("t_b");
  if (forward < 1 || backward < 2) throw std::runtime_error("passes are too short to count in ticks");
  costs const cost(stage_cost{forward, backward - 1, 1});
  std::string const name = run.at("name").get<std::string>() + ", " + std::to_string(m);
  auto const scheduled = [&](stage_graph const& graph) {
    schedule const s = catalog::one_f_one_b(graph, linear(devices{count}), micro_batches{m}, cost);
    r.holds(name + ": schedule is valid", check(s).ok());
    return makespan(s);
  };
  stage_graph const line = chain(ashlar::stages{count});
  tick const graph = scheduled(stages.graph), sequential = scheduled(line);
  r.same(name + ": makespan of the graph", graph, run.at("gpp_makespan").get<tick>());
  r.same(name + ": makespan of the chain", sequential, run.at("spp_makespan").get<tick>());
  r.near(name + ": ratio", static_cast<double>(sequential) / static_cast<double>(graph),
         run.at("ratio").get<double>(), 0, 0.5e-4 + 1e-12);  // four digits are given
  r.same(name + ": depth of the graph", depth(stages.graph), run.at("gpp_depth").get<int>());
  r.same(name + ": depth of the chain", depth(line), run.at("spp_depth").get<int>());
}

std::vector<std::string> split(std::string const& line, char at) {
  std::vector<std::string> parts(1);
  for (char c : line)
    if (c == at)
      parts.emplace_back();
    else if (c != '\r')
      parts.back() += c;
  return parts;
}

// The strategies once more, as a table with a line a stage.
void check_table(systems::report& r, std::string const& path) {
  struct strategy {
    neighbours succ;
    batching b;
    std::vector<std::int64_t> given;
  };
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + " cannot be read");
  std::map<std::string, strategy> all;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    auto const fields = split(line, ',');
    if (fields.size() != 7) throw std::runtime_error(path + ": a line has not seven fields");
    strategy& s = all[fields[0]];
    auto& after = s.succ[std::stoi(fields[1])];
    for (std::string const& to : split(fields[6], ' '))
      if (!to.empty()) after.push_back(std::stoi(to));
    s.b.size.push_back(std::stoi(fields[2]));
    s.given.push_back(std::stoll(fields[3]));
    s.b.k.push_back(std::stoi(fields[4]));
  }
  for (auto const& [file, s] : all) {
    auto const computed = samples_in_flight(stages_of(s.succ), s.b);
    for (std::size_t i = 0; i < s.given.size(); ++i)
      r.same("table: " + file + ", stage " + std::to_string(i), computed[i], s.given[i]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return systems::run(argc, argv, [](json const& gold, std::string const& data, systems::report& r) {
    for (json const& strategy : gold.at("strategies")) check_strategy(r, strategy, gold);
    if (gold.contains("fig5")) check_figure(r, gold.at("fig5"));
    for (json const& run : gold.at("simulated")) check_makespans(r, run);
    if (!data.empty()) check_table(r, data + "/author_strategies.csv");
  });
}
