// Random valid blocks and schedules, the same for a seed on every machine; and words for them.
#pragma once

#include <ashlar/block/algebra.hpp>
#include <ashlar/model/dependencies.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace random_case {

using namespace ashlar;

class dice {
 public:
  explicit dice(std::uint64_t seed) : engine_(seed) {}
  // Takes what a fuzzer chose, two bytes a throw; where they end, always the lowest.
  dice(std::uint8_t const* bytes, std::size_t size) : bytes_(bytes), left_(size), thrown_(false) {}

  // Throws from low to high, both included.
  int between(int low, int high) {
    return low + static_cast<int>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool percent(int chance) { return between(1, 100) <= chance; }

 private:
  std::uint64_t next() {
    if (thrown_) return engine_();
    std::uint64_t number = 0;
    for (int i = 0; i < 2 && left_ > 0; ++i, --left_) number = number << 8U | *bytes_++;
    return number;
  }

  std::mt19937_64 engine_;
  std::uint8_t const* bytes_ = nullptr;
  std::size_t left_ = 0;
  bool thrown_ = true;
};

// The traits that several blocks must have in common to be laid over each other.
struct world {
  devices p;
  stage_graph graph;
  costs cost;
  placement where;
};

inline placement random_placement(dice& d, devices p, stages count) {
  return make_placement(p, count, [&](int) { return d.between(0, p.value - 1); });
}

inline stage_graph random_graph(dice& d, int count) {
  if (d.percent(70)) return chain(stages{count});
  std::vector<stage_edge> edges;
  for (int to = 1; to < count; ++to)
    for (int from = 0, sure = d.between(-1, to - 1); from < to; ++from)
      if (from == sure || d.percent(20)) edges.push_back({from, to});
  return stage_graph(stages{count}, edges);
}

// Every chunk of a sequence gets costs of its own, often those of the stage, else more.
inline void differ_by_sequence_chunk(dice& d, costs& cost, int q) {
  std::vector<stage_cost> each;
  cost.passes.for_each([&](int, int, stage_cost const& alike) {
    for (int chunk = 0; chunk < q; ++chunk) {
      stage_cost c = alike;
      for (tick stage_cost::*kind :
           {&stage_cost::forward, &stage_cost::backward_input, &stage_cost::backward_weight})
        if (d.percent(50)) c.*kind += d.between(1, 9);
      if (d.percent(20)) c.recompute = d.between(1, 6);
      each.push_back(c);
    }
  });
  cost.passes = pass_costs::by_stage_and_sequence_chunk(each, q);
}

// Gives micro-batches costs of their own, too: sequences of different lengths.
inline void differ_by_micro_batch(dice& d, costs& cost, int m) {
  pair_costs const overlapped = cost.passes.overlapped;
  std::vector<stage_cost> each;
  cost.passes.for_each([&](int, int, stage_cost const& alike) {
    for (int k = 0; k < m; ++k) {
      stage_cost c = alike;
      if (d.percent(60)) c.forward += d.between(1, 9);
      if (d.percent(60)) c.backward_input += d.between(1, 9);
      if (d.percent(60)) c.backward_weight += d.between(1, 9);
      each.push_back(c);
    }
  });
  cost.passes = pass_costs::by_stage_and_micro_batch(each, m);
  cost.passes.overlapped = overlapped;
}

// Makes micro-batches keep and send more than they did, by up to `most`.
inline void differ_by_micro_batch(dice& d, memory_model& memory, int m, int most) {
  std::vector<stage_memory> each;
  for (stage_memory const& alike : memory.stages)
    for (int k = 0; k < m; ++k) {
      stage_memory& own = each.emplace_back(alike);
      for (byte_count* const size : {&own.activation, &own.gradient, &own.stash, &own.weight_stash})
        if (d.percent(60)) *size += d.between(1, most);
    }
  memory.stages = each;
  memory.micro_batches = m;
}

inline costs random_costs(dice& d, int count) {
  std::vector<stage_cost> each(d.percent(50) ? std::size_t{1} : static_cast<std::size_t>(count));
  bool const has_instants = d.percent(25);
  auto const time = [&]() -> tick { return has_instants && d.percent(40) ? 0 : d.between(1, 4); };
  for (stage_cost& c : each) {
    c = {time(), time(), time()};
    if (d.percent(50)) c.recompute = time();
  }
  return costs(each, d.percent(40) ? 0 : d.between(1, 4));
}

// Varies the speeds of devices and nodes, the same from either end if they have to be `symmetric`; often
// devices and links stay alike.
inline void vary_machine(dice& d, costs& cost, int p, bool symmetric) {
  if (d.percent(30)) {
    cost.on.speeds.clear();
    for (int device = 0; device < p; ++device)
      cost.on.speeds.push_back(symmetric && 2 * device >= p
                                   ? cost.on.speeds[static_cast<std::size_t>(p - 1 - device)]
                                   : 10 * d.between(4, 20));
  }
  if (d.percent(30)) {
    cost.on.links.node_size = d.between(1, p);
    if (symmetric && p % cost.on.links.node_size != 0) cost.on.links.node_size = 1;
    cost.on.links.between.latency = d.between(0, 6);
  }
  if (symmetric || p < 2) return;
  if (d.percent(15)) cost.on.links.wider = {{d.between(1, p), {d.between(0, 8)}}};
  if (d.percent(25)) {
    int const from = d.between(0, p - 1);
    cost.on.links.exceptions = {{from, (from + d.between(1, p - 1)) % p, {d.between(0, 9)}}};
  }
}

inline world random_world(dice& d) {
  devices const p{d.between(1, 5)};
  world w{p, {}, {}, linear(p)};
  switch (d.between(0, 4)) {
    case 0:
      break;
    case 1:
      w.where = looped(p, chunks{d.between(1, 3)});
      break;
    case 2:
      w.where = wave(p, waves{d.between(1, 2)});
      break;
    default:
      w.where = random_placement(d, p, stages{d.between(1, 8)});
  }
  w.graph = random_graph(d, w.where.stage_count());
  w.cost = random_costs(d, w.where.stage_count());
  vary_machine(d, w.cost, p.value, true);
  return w;
}

struct block_options {
  bool fused = true, split = true, again = true;  // which passes a stage may have
  execution_mode mode = execution_mode::training;
};

// Puts the passes of a block one after the other at random free times after their inputs.
class block_writer {
 public:
  block_writer(dice& d, world const& w, block_options want) : d_(d), want_(want) {
    b_.graph = w.graph;
    b_.cost = w.cost;
    b_.where = w.where;
    b_.mode = want.mode;
    if (d.percent(35))
      b_.where =
          overlay(b_.where, d.percent(50) ? mirror(w.where)
                                          : random_placement(d, w.p, stages{w.where.stage_count()}));
    int const group = d.between(b_.where.route_count(), b_.where.route_count() + 2);
    for (int k = 0; k < group; ++k)
      b_.route.push_back(k < b_.where.route_count() ? k : d.between(0, b_.where.route_count() - 1));
    choose_passes();
  }

  block write() {
    std::vector<tick> busy(static_cast<std::size_t>(b_.where.device_count()), 0);
    for (pass what : passes_) busy[static_cast<std::size_t>(b_.device_of(what))] += b_.length_of(what);
    tick const least = *std::max_element(busy.begin(), busy.end());
    b_.interval = std::max<tick>(1, least + d_.between(0, static_cast<int>(least / 2)));
    while (!fits()) b_.interval += 1 + least / 4;
    tick const by = d_.between(-20, 20);
    for (cell& c : b_.cells) c.offset += by;
    return b_;
  }

 private:
  void choose_passes() {
    int const count = b_.where.stage_count();
    for (int k = 0; k < b_.micro_batch_count(); ++k) {
      for (int s = 0; s < count; ++s) passes_.push_back({pass_kind::forward, s, k});
      for (int s = count; s-- > 0 && want_.mode == execution_mode::training;) {
        if (want_.again && d_.percent(20)) passes_.push_back({pass_kind::recompute, s, k});
        if (want_.fused && (!want_.split || d_.percent(50))) {
          passes_.push_back({pass_kind::backward, s, k});
        } else {
          passes_.push_back({pass_kind::backward_input, s, k});
          passes_.push_back({pass_kind::backward_weight, s, k});
        }
      }
    }
  }

  bool fits() {
    b_.cells.clear();
    result_table<tick> ends(b_.where.stage_count(), b_.micro_batch_count(), -1);
    std::vector<row> rows(static_cast<std::size_t>(b_.where.device_count()),
                          row(static_cast<std::size_t>(b_.interval)));
    for (pass what : passes_) {
      row& own = rows[static_cast<std::size_t>(b_.device_of(what))];
      tick start = d_.percent(70) ? 0 : d_.between(0, static_cast<int>(b_.interval));
      for_each_input(b_.graph, what, [&](result r, int stage, int) {
        tick const end = ends.at(what.micro_batch, stage, r);
        int const from = b_.device_of({what.kind, stage, what.micro_batch});
        if (end >= 0) start = std::max(start, end + b_.cost.transfer(from, b_.device_of(what)));
      });
      if (d_.percent(30)) start += d_.between(0, 5);
      tick const last = start + b_.interval;
      while (start < last && !free(own, start, b_.length_of(what))) ++start;
      if (start == last) return false;
      if (b_.length_of(what) == 0) own[place(start)].begins_here = true;
      for (tick t = start; t < start + b_.length_of(what); ++t) own[place(t)].taken = true;
      ends.at(what.micro_batch, what.stage, result_of(what.kind)) = start + b_.length_of(what);
      b_.cells.insert(b_.cells.begin() + d_.between(0, static_cast<int>(b_.cells.size())),
                      {what, start});
    }
    return true;
  }

  // A tick of a device's interval: whether a pass takes it, and whether a pass without duration stands
  // there.
  struct moment {
    bool taken = false, begins_here = false;
  };
  using row = std::vector<moment>;

  std::size_t place(tick t) const { return static_cast<std::size_t>(t % b_.interval); }

  // A pass that takes no time goes where some pass may have just ended or is about to begin.
  bool free(row const& of, tick start, tick length) const {
    if (length == 0) return !of[place(start)].taken || !of[place(start + b_.interval - 1)].taken;
    for (tick t = start; t < start + length; ++t)
      if (of[place(t)].taken || (t > start && of[place(t)].begins_here)) return false;
    return length <= b_.interval;
  }

  dice& d_;
  block_options want_;
  block b_;
  std::vector<pass> passes_;
};

inline block random_block(dice& d, world const& w, block_options want = {}) {
  return block_writer(d, w, want).write();
}
inline block random_block(dice& d, block_options want = {}) {
  return random_block(d, random_world(d), want);
}

// A number of micro-batches that fills `most` blocks at most.
inline micro_batches random_count(dice& d, block const& b, int most = 4) {
  return micro_batches{b.micro_batch_count() * d.between(1, most)};
}

inline std::ostream& operator<<(std::ostream& out, pass const& what) {
  return out << what.stage << "FRBIWx"[static_cast<int>(what.kind)] << what.micro_batch;
}

inline std::string words(block const& b) {
  std::ostringstream out;
  out << "interval " << b.interval << ", transfer " << b.cost.on.links.inside.latency << " and "
      << b.cost.on.links.between.latency << " between nodes of " << b.cost.on.links.node_size
      << ", speeds";
  for (int percent : b.cost.on.speeds) out << ' ' << percent;
  out << ", edges";
  for (int s = 0; s < b.graph.count(); ++s)
    for (int to : b.graph.successors(s)) out << ' ' << s << '>' << to;
  for (int r = 0; r < b.where.route_count(); ++r) {
    out << ", route";
    for (int s = 0; s < b.where.stage_count(); ++s) out << ' ' << b.where.device_of(r, s);
  }
  out << ", taken";
  for (int r : b.route) out << ' ' << r;
  for (cell const& c : b.cells)
    out << "\n  " << c.what << " on " << b.device_of(c.what) << ": " << c.offset << " + "
        << b.length_of(c.what);
  return out.str();
}

}  // namespace random_case

// Runs the body `count` times with a fresh `dice d`; failures name its seed.
#define FOR_SEEDS(count)                                \
  for (std::uint64_t seed = 1; seed <= (count); ++seed) \
    if (random_case::dice d(seed); true)                \
      for (bool once = true; once; once = false)
