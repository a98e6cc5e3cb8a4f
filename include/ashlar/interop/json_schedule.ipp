// Definitions of json_schedule.hpp.
#pragma once

#include <ashlar/block/check.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/input_limits.hpp>
#include <ashlar/interop/json_graph.hpp>
#include <ashlar/interop/json_pairs.hpp>
#include <ashlar/interop/json_reader.hpp>
#include <ashlar/interop/json_schedule.hpp>
#include <ashlar/interop/json_times.hpp>
#include <ashlar/interop/pass_token.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace ashlar::json_detail {

using nlohmann::json;

ASHLAR_INLINE execution_mode mode_of(bool trains) {
  return trains ? execution_mode::training : execution_mode::inference;
}

class schedule_reader : json_reader {
 public:
  explicit schedule_reader(json_text const& source)
      : json_reader(source), file_(source.root()), times_(source) {}

  json_schedule read() const {
    json_schedule all{.scale = times_.scale(), .rounded = times_.rounded()};
    if (file_.contains("schedule")) all.name = text(file_["schedule"], "schedule");
    if (file_.contains("cells"))
      all.block = read_block();
    else
      all.schedule = read_schedule();
    return all;
  }

 private:
  json const& at(char const* key) const { return json_reader::at(file_, key); }

  std::vector<int> integers(json const& values, char const* key, long long most) const {
    std::vector<int> all;
    for (json const& value : list(values, key))
      all.push_back(static_cast<int>(whole(value, key, 0, most)));
    return all;
  }
  int sequence_chunks(json const& given) const {
    return static_cast<int>(whole(given, "sequence_chunks", 1, input_limits::sequence_chunks));
  }

  // Reads devices by stage, of one route or of several.
  placement read_placement() const {
    int most = 0;
    json const& given = at("placement");
    std::vector<std::vector<int>> const routes = read_routes(given, "placement", most);
    if (!file_.contains("backward_placement"))
      return made_of(given, "placement", [&] { return placement(devices{most + 1}, routes); });
    json const& others = file_["backward_placement"];
    std::vector<std::vector<int>> const backwards = read_routes(others, "backward_placement", most);
    return made_of(others, "backward_placement",
                   [&] { return placement(devices{most + 1}, routes, backwards); });
  }

  // The devices of each route, and the highest so far.
  std::vector<std::vector<int>> read_routes(json const& value, char const* key, int& most) const {
    json const& given = list(value, key);
    std::vector<std::vector<int>> routes;
    if (given.empty()) fail(given, "\"" + std::string(key) + "\" must have the device of a stage");
    auto const add = [&](json const& route) {
      routes.push_back(integers(route, key, input_limits::devices - 1));
      for (int const device : routes.back()) most = std::max(most, device);
    };
    if (given[0].is_array())
      for (json const& route : given) add(route);
    else
      add(given);
    return routes;
  }

  stage_cost read_stage_cost(json const& object) const {
    auto const time_of = [&](char const* key, tick otherwise) {
      return object.contains(key) ? times_.ticks(object[key], key, 0) : otherwise;
    };
    tick const one = times_.one();
    return {.forward = time_of("forward", one),
            .backward_input = time_of("backward_input", one),
            .backward_weight = time_of("backward_weight", one),
            .recompute = time_of("recompute", stage_cost::same_as_forward)};
  }

  // Reads costs by stage, or by each chunk or micro-batch of each stage if those are distinguished.
  std::vector<stage_cost> read_stage_costs(json const& given, int stage_count, int per_stage,
                                           char const* what) const {
    std::vector<stage_cost> each;
    for (json const& one : list(given["per_stage"], "per_stage"))
      each.push_back(read_stage_cost(object(one, "per_stage")));
    if (static_cast<std::int64_t>(each.size()) == std::int64_t{stage_count} * per_stage) return each;
    std::string const read = std::to_string(each.size()), stages = std::to_string(stage_count);
    fail(given["per_stage"], per_stage == 1
                                 ? "has costs of " + read + " stages, but " + stages + " stages"
                                 : "has " + read + " costs, but " + stages + " stages with "
                                       + std::to_string(per_stage) + " " + what + " each");
  }

  interconnect read_links(json const& given, int device_count) const {
    interconnect links;
    if (given.contains("transfer"))
      links.inside.latency = times_.ticks(given["transfer"], "transfer", 0);
    links.between = links.inside;
    char const* const between = "transfer_between_nodes";
    if (given.contains(between)) links.between.latency = times_.ticks(given[between], between, 0);
    if (given.contains("node_size"))
      links.node_size =
          static_cast<int>(whole(given["node_size"], "node_size", 0, std::numeric_limits<int>::max()));
    auto const transfer = [&](json const& one) {
      return link_speed{.latency = times_.ticks(json_reader::at(one, "transfer"), "transfer", 0)};
    };
    auto const device = [&](json const& one, char const* key) {
      return static_cast<int>(whole(json_reader::at(one, key), key, 0, device_count - 1));
    };
    if (given.contains("levels"))
      for (json const& one : list(given["levels"], "levels")) {
        json const& size = json_reader::at(one, "devices");
        links.wider.push_back(
            {static_cast<int>(whole(size, "devices", 1, input_limits::devices)), transfer(one)});
      }
    if (given.contains("links"))
      for (json const& one : list(given["links"], "links"))
        links.exceptions.push_back({device(one, "from"), device(one, "to"), transfer(one)});
    return links;
  }

  std::vector<int> read_speeds(json const& given, int device_count) const {
    std::vector<int> all = integers(given, "speeds", input_limits::percent);
    if (static_cast<int>(all.size()) != device_count)
      fail(given, "has speeds of " + std::to_string(all.size()) + " devices, but "
                      + std::to_string(device_count) + " devices");
    return all;
  }

  // The costs of each stage, and of each of its chunks or micro-batches if these are distinguished.
  pass_costs read_pass_costs(json const& given, int stage_count, int m) const {
    if (!given.contains("per_stage")) return read_stage_cost(given);
    bool const has_chunks = given.contains("sequence_chunks");
    if (!given.contains("micro_batches")) {
      int const chunks = has_chunks ? sequence_chunks(given["sequence_chunks"]) : 1;
      return pass_costs::by_stage_and_sequence_chunk(
          read_stage_costs(given, stage_count, chunks, "sequence chunks"), chunks);
    }
    json const& count = given["micro_batches"];
    if (whole(count, "micro_batches", 1, input_limits::micro_batches) != m || has_chunks)
      fail(count, "has costs of " + count.dump() + " micro-batches, but there are " + std::to_string(m)
                      + (has_chunks ? " and \"sequence_chunks\"" : ""));
    return pass_costs::by_stage_and_micro_batch(read_stage_costs(given, stage_count, m, "micro-batches"),
                                                m);
  }

  // Reads one time for all pairs; or for each kind of backward a row for each forward's stage, with the
  // time in a pair with each backward's stage.
  pair_costs read_pairs(json const& given, int stage_count) const {
    if (!given.is_object()) return times_.ticks(given, "overlapped", 0);
    std::size_t const count = list(json_reader::at(given, "backward"), "backward").size();
    if (count != 1 && count != static_cast<std::size_t>(stage_count))
      fail(given, "\"overlapped\" has pairs of " + std::to_string(count) + " stages, but "
                      + std::to_string(stage_count) + " stages");
    std::vector<tick> all(3 * count * count, 0);
    for (std::size_t kind = 0; kind < 3; ++kind) {
      char const* const key = pair_keys[kind];
      json const& rows = list(json_reader::at(given, key), key);
      for (std::size_t ahead = 0; ahead < count; ++ahead)
        for (std::size_t back = 0; back < count; ++back) {
          if (rows.size() != count || list(rows[ahead], key).size() != count)
            fail(rows, "\"" + std::string(key) + "\" must have " + std::to_string(count) + " rows of "
                           + std::to_string(count) + " times");
          all[3 * (ahead * count + back) + kind] = times_.ticks(rows[ahead][back], key, 0);
        }
    }
    return pair_costs::by_stage(std::move(all), static_cast<int>(count));
  }

  // `m`: micro-batches that costs may distinguish.
  costs read_costs(int stage_count, int device_count, int m) const {
    costs made;
    static json const none = json::object();
    json const& given = file_.contains("costs") ? file_["costs"] : none;
    made.passes = read_pass_costs(given, stage_count, m);
    made.on.links = read_links(given, device_count);
    if (given.contains("speeds")) made.on.speeds = read_speeds(given["speeds"], device_count);
    if (given.contains("overlapped"))
      made.passes.overlapped = read_pairs(given["overlapped"], stage_count);
    if (file_.contains("costs"))
      made_of(given, "costs", [&] {
        int const chunks = made.passes.sequence_chunks(), per_stage = made.passes.micro_batches();
        if (auto const d = check(made, stage_count, device_count, std::max(chunks, per_stage), chunks);
            !d.ok())
          throw violation(d);
      });
    return made;
  }

  // Requires that a size in the file matches the lists that have it.
  void must_count(char const* key, int count) const {
    if (!file_.contains(key)) return;
    if (json const& given = file_[key]; given != count)
      fail(given, "\"" + std::string(key) + "\" is " + given.dump() + ", but there are "
                      + std::to_string(count));
  }

  // Reads 2F0; in a building block also 2F, for its first micro-batch.
  pass read_pass_at(json const& place, std::string_view token, bool of_block) const {
    if (auto const what = read_pass(token, of_block)) return *what;
    fail(place,
         "has \"" + std::string(token.substr(0, 64)) + "\" for a pass, which is written like 2F0");
  }

  schedule read_schedule() const {
    schedule s;
    s.where = read_placement();
    int const stage_count = s.where.stage_count();
    s.graph = read_json_graph(source_, stage_count);
    if (file_.contains("sequence_chunks")) {
      json const& given = file_["sequence_chunks"];
      s.graph = made_of(given, "sequence_chunks",
                        [&] { return in_sequence_chunks(s.graph, sequence_chunks(given)); });
    }
    s.route = integers(at("route"), "route", s.where.route_count() - 1);
    s.cost = read_costs(stage_count, s.device_count(), s.micro_batch_count());
    json const& orders = list(at("orders"), "orders");
    if (static_cast<int>(orders.size()) != s.device_count())
      fail(orders, "has orders of " + std::to_string(orders.size()) + " devices, but "
                       + std::to_string(s.device_count()) + " devices");
    bool trains = false;
    for (json const& tokens : orders) {
      auto& order = s.order.emplace_back();
      for (json const& token : list(tokens, "orders")) {
        order.push_back({read_pass_at(token, text(token, "orders"), false), 0});
        trains = trains || order.back().what.kind != pass_kind::forward;
      }
    }
    s.mode = mode_of(trains);
    must_count("devices", s.device_count());
    must_count("stages", stage_count);
    must_count("micro_batches", s.micro_batch_count());
    if (!file_.contains("starts")) return made_of(orders, "orders", [&] { return squeeze(s); });
    read_starts(s);
    return s;
  }

  void read_starts(schedule& s) const {
    json const& starts = list(file_["starts"], "starts");
    if (starts.size() != s.order.size())
      fail(starts, "has starts of " + std::to_string(starts.size()) + " devices, but "
                       + std::to_string(s.order.size()) + " devices");
    for (std::size_t d = 0; d < s.order.size(); ++d) {
      if (list(starts[d], "starts").size() != s.order[d].size())
        fail(starts[d], "lacks starts of device " + std::to_string(d));
      for (std::size_t i = 0; i < s.order[d].size(); ++i)
        s.order[d][i].start = times_.ticks(starts[d][i], "starts", 0);  // a makespan counts from 0
    }
    if (file_.contains("pairs"))
      read_pairs_of(s);
    else
      find_pairs(s);
  }

  // Pairs by the place of the forward in its device's order. The pass behind it is the other half.
  void read_pairs_of(schedule& s) const {
    json const& pairs = list(file_["pairs"], "pairs");
    if (pairs.size() != s.order.size())
      fail(pairs, "has pairs of " + std::to_string(pairs.size()) + " devices, but "
                      + std::to_string(s.order.size()) + " devices");
    for (std::size_t d = 0; d < s.order.size(); ++d) {
      std::vector<time_slot> const passes = std::move(s.order[d]);
      std::vector<int> const places =
          integers(pairs[d], "pairs", static_cast<long long>(passes.size()) - 2);
      s.order[d].clear();
      std::size_t next = 0;
      for (std::size_t i = 0; i < passes.size(); ++i) {
        s.order[d].push_back(passes[i]);
        if (next == places.size() || static_cast<std::size_t>(places[next]) != i) continue;
        time_slot const& behind = passes[++i];
        if (passes[i - 1].what.kind != pass_kind::forward || !is_backward(behind.what.kind)
            || behind.start != passes[i - 1].start)
          fail(pairs[d], "has pairs at " + std::to_string(places[next])
                             + ", where no forward starts together with the backward behind it");
        s.order[d].back().beside = behind.what;
        ++next;
      }
      if (next < places.size())
        fail(pairs[d], "has pairs at " + std::to_string(places[next]) + " out of order");
    }
  }

  block read_block() const {
    block b;
    b.where = read_placement();
    b.graph = read_json_graph(source_, b.where.stage_count());
    b.interval = times_.ticks(at("interval"), "interval", 1);
    b.route = file_.contains("route") ? integers(file_["route"], "route", b.where.route_count() - 1)
                                      : std::vector<int>{0};
    b.cost = read_costs(b.where.stage_count(), b.where.device_count(), b.micro_batch_count());
    bool trains = false;
    for (auto const& [token, offset] : object(at("cells"), "cells").items()) {
      b.cells.push_back({read_pass_at(offset, token, true), times_.ticks(offset, "cells", -max_tick)});
      pass const what = b.cells.back().what;
      if (what.stage >= b.where.stage_count() || what.micro_batch >= b.micro_batch_count())
        fail(offset, "has a cell \"" + token + "\", but " + std::to_string(b.where.stage_count())
                         + " stages and " + std::to_string(b.micro_batch_count()) + " micro-batches");
      trains = trains || what.kind != pass_kind::forward;
    }
    b.mode = mode_of(trains);
    return b;
  }

  json const& file_;
  json_times times_;
};

}  // namespace ashlar::json_detail

namespace ashlar {

ASHLAR_INLINE json_schedule read_json_schedule(json_text const& source) {
  return json_detail::schedule_reader(source).read();
}

ASHLAR_INLINE json_schedule read_json_schedule(std::string text, std::string path) {
  return read_json_schedule(parse_json(std::move(text), std::move(path)));
}

}  // namespace ashlar
