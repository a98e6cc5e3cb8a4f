#include "files/schedule_json.hpp"

#include "command.hpp"
#include "files/graph_files.hpp"
#include "options/limits.hpp"
#include "options/overlapped_pairs.hpp"
#include "options/pass_token.hpp"
#include <ashlar/schedule/squeeze.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

namespace {

using ashlar::tick;
using nlohmann::json;

constexpr char const* time_keys[] = {"forward",   "backward_input", "backward_weight",
                                     "recompute", "transfer",       "transfer_between_nodes",
                                     "overlapped"};

ashlar::execution_mode mode_of(bool trains) {
  return trains ? ashlar::execution_mode::training : ashlar::execution_mode::inference;
}

class schedule_reader : json_reader {
 public:
  explicit schedule_reader(json_text const& source) : json_reader(source), file_(source.root) {
    find_scale();
  }

  schedule_file read() const {
    schedule_file all{.scale = scale_};
    if (file_.contains("schedule")) all.name = text(file_["schedule"], "schedule");
    if (file_.contains("cells"))
      all.block = block();
    else
      all.schedule = schedule();
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

  // Errors of what `make` does have the place of the value.
  template <class Make>
  auto placed(json const& value, Make make) const {
    try {
      return make();
    } catch (usage_error const& e) {
      fail(value, e.what());
    }
  }

  // The unit that is named, or the first that a time has, and as many ticks as make all times whole.
  void find_scale() {
    std::vector<duration> all;
    if (file_.contains("costs")) {
      json const& cost = object(file_["costs"], "costs");
      if (cost.contains("time_unit")) {
        json const& unit = cost["time_unit"];
        unit_ =
            placed(unit, [&] { return read_duration("a time", "1" + text(unit, "time_unit"), 1).unit; });
        all.push_back({.given_by = "\"time_unit\"", .unit = unit_});
      }
      if (cost.contains("ticks_per_unit")) {
        in_ticks_ = true;
        scale_ = {whole(cost["ticks_per_unit"], "ticks_per_unit", 1, ashlar::max_tick), unit_};
        return;
      }
      collect_costs(cost, all);
      if (cost.contains("per_stage"))
        for (json const& one : list(cost["per_stage"], "per_stage")) collect_costs(one, all);
    }
    for (char const* const key : {"interval", "cells", "starts"})
      if (file_.contains(key)) collect(file_[key], key, all);
    scale_ = placed(file_, [&] { return scale_of(all); });
  }
  void collect_costs(json const& cost, std::vector<duration>& all) const {
    for (char const* const key : time_keys)
      if (cost.contains(key)) collect(cost[key], key, all);
  }
  // Plain whole numbers are whole in any ticks.
  void collect(json const& value, char const* key, std::vector<duration>& all) const {
    if (value.is_structured())
      for (json const& inner : value) collect(inner, key, all);
    else if (!value.is_number_integer())
      all.push_back(time(value, key).length);
  }

  // Offsets may be negative.
  struct signed_duration {
    duration length;
    bool negative = false;
  };
  signed_duration time(json const& value, char const* key) const {
    if (!value.is_number() && !value.is_string())
      fail(value, fmt::format("\"{}\" must be a time like 3, 1.5 or \"12.5ms\"", key));
    std::string const written = value.is_string() ? value.get<std::string>() : value.dump();
    bool const negative = written.starts_with('-');
    duration d = placed(value, [&] {
      return read_duration(fmt::format("\"{}\"", key), written.substr(negative ? 1 : 0), 0);
    });
    if (d.unit.empty()) d.unit = unit_;
    return {std::move(d), negative};
  }
  tick ticks(json const& value, char const* key, tick least, tick most = ashlar::max_tick) const {
    if (in_ticks_ || (scale_.is_plain() && value.is_number_integer()))
      return whole(value, key, least, most);
    signed_duration const t = time(value, key);
    tick const length = placed(value, [&] { return ticks_of(t.length, scale_); });
    tick const counted = t.negative ? -length : length;
    if (counted < least || counted > most)
      fail(value,
           fmt::format("\"{}\" must be from {} to {}", key, scale_.words(least), scale_.words(most)));
    return counted;
  }

  // Devices by stage, of one route or of several.
  ashlar::placement placement() const {
    json const& given = list(at("placement"), "placement");
    std::vector<std::vector<int>> routes;
    int most = 0;
    if (given.empty()) fail(given, "\"placement\" must have the device of a stage");
    auto const add = [&](json const& route) {
      routes.push_back(integers(route, "placement", most_devices - 1));
      for (int const device : routes.back()) most = std::max(most, device);
    };
    if (given[0].is_array())
      for (json const& route : given) add(route);
    else
      add(given);
    return made_of(given, "placement",
                   [&] { return ashlar::placement(ashlar::devices{most + 1}, routes); });
  }

  ashlar::stage_cost stage_cost(json const& object) const {
    auto const time_of = [&](char const* key, tick otherwise) {
      return object.contains(key) ? ticks(object[key], key, 0) : otherwise;
    };
    tick const unit = in_ticks_ ? 1 : scale_.ticks_per_unit;
    return {.forward = time_of("forward", unit),
            .backward_input = time_of("backward_input", unit),
            .backward_weight = time_of("backward_weight", unit),
            .recompute = time_of("recompute", ashlar::stage_cost::same_as_forward)};
  }

  ashlar::costs costs(int stage_count, int device_count, int m) const {
    ashlar::costs read;
    static json const none = json::object();
    json const& given = file_.contains("costs") ? file_["costs"] : none;
    int q = 1;
    read.passes = stage_cost(given);
    if (given.contains("per_stage")) {
      std::vector<ashlar::stage_cost> each;
      for (json const& one : list(given["per_stage"], "per_stage"))
        each.push_back(stage_cost(object(one, "per_stage")));
      if (given.contains("sequence_chunks"))
        q = static_cast<int>(
            whole(given["sequence_chunks"], "sequence_chunks", 1, most_sequence_chunks));
      if (given.contains("micro_batches")) {
        int const own =
            static_cast<int>(whole(given["micro_batches"], "micro_batches", 1, most_micro_batches));
        if (own != m || given.contains("sequence_chunks"))
          fail(given["micro_batches"],
               fmt::format("tells {} micro-batches apart, but there are {}{}", own, m,
                           given.contains("sequence_chunks") ? " and \"sequence_chunks\"" : ""));
        if (static_cast<std::int64_t>(each.size()) != std::int64_t{stage_count} * m)
          fail(given["per_stage"], fmt::format("has {} costs, but {} stages with {} micro-batches each",
                                               each.size(), stage_count, m));
        read.passes = ashlar::pass_costs::by_stage_and_micro_batch(std::move(each), m);
      } else if (static_cast<std::int64_t>(each.size()) != std::int64_t{stage_count} * q)
        fail(given["per_stage"],
             q == 1 ? fmt::format("has costs of {} stages, but {} stages", each.size(), stage_count)
                    : fmt::format("has {} costs, but {} stages with {} sequence chunks each",
                                  each.size(), stage_count, q));
      else
        read.passes = ashlar::pass_costs::by_stage_and_chunk(std::move(each), q);
    }
    auto const time_of = [&](char const* key, tick least, tick otherwise) {
      return given.contains(key) ? ticks(given[key], key, least) : otherwise;
    };
    tick const transfer = time_of("transfer", 0, 0);
    read.on.links.inside.latency = transfer;
    read.on.links.between.latency = time_of("transfer_between_nodes", 0, transfer);
    if (given.contains("node_size"))
      read.on.links.node_size =
          static_cast<int>(whole(given["node_size"], "node_size", 0, most_devices));
    auto const device = [&](json const& one, char const* key) {
      return static_cast<int>(whole(json_reader::at(one, key), key, 0, device_count - 1));
    };
    if (given.contains("levels"))
      for (json const& one : list(given["levels"], "levels"))
        read.on.links.wider.push_back(
            {static_cast<int>(whole(json_reader::at(one, "devices"), "devices", 1, most_devices)),
             {.latency = ticks(json_reader::at(one, "transfer"), "transfer", 0)}});
    if (given.contains("links"))
      for (json const& one : list(given["links"], "links"))
        read.on.links.exceptions.push_back(
            {device(one, "from"),
             device(one, "to"),
             {.latency = ticks(json_reader::at(one, "transfer"), "transfer", 0)}});
    if (given.contains("speeds")) {
      read.on.speeds = integers(given["speeds"], "speeds", most_percent);
      if (static_cast<int>(read.on.speeds.size()) != device_count)
        fail(given["speeds"], fmt::format("has speeds of {} devices, but {} devices",
                                          read.on.speeds.size(), device_count));
    }
    read.passes.overlapped = time_of("overlapped", 0, ashlar::pass_costs::one_after_the_other);
    if (file_.contains("costs"))
      made_of(given, "costs", [&] {
        if (auto const d =
                check(read, stage_count, device_count, std::max(q, read.passes.micro_batches()), q);
            !d.ok())
          throw ashlar::violation(d);
      });
    return read;
  }

  // What a file says of its size beside the lists that have it.
  void must_count(char const* key, int count) const {
    if (!file_.contains(key)) return;
    if (json const& given = file_[key]; given != count)
      fail(given, fmt::format("\"{}\" is {}, but there are {}", key, given.dump(), count));
  }

  // 2F0; of a building block also 2F, of its first micro-batch.
  ashlar::pass pass(json const& place, std::string_view token, bool of_block) const {
    if (auto const what = read_pass(token, of_block)) return *what;
    fail(place, fmt::format("has \"{}\" for a pass, which is written like 2F0", token.substr(0, 64)));
  }

  ashlar::schedule schedule() const {
    ashlar::schedule s;
    s.where = placement();
    int const stage_count = s.where.stage_count();
    s.graph = graph_of_json(source_, stage_count);
    if (file_.contains("sequence_chunks"))
      s.graph = made_of(file_["sequence_chunks"], "sequence_chunks", [&] {
        return in_sequence_chunks(
            s.graph, static_cast<int>(
                         whole(file_["sequence_chunks"], "sequence_chunks", 1, most_sequence_chunks)));
      });
    s.route = integers(at("route"), "route", s.where.route_count() - 1);
    s.cost = costs(stage_count, s.device_count(), s.micro_batch_count());
    json const& orders = list(at("orders"), "orders");
    if (static_cast<int>(orders.size()) != s.device_count())
      fail(orders,
           fmt::format("has orders of {} devices, but {} devices", orders.size(), s.device_count()));
    bool trains = false;
    for (json const& tokens : orders) {
      auto& order = s.order.emplace_back();
      for (json const& token : list(tokens, "orders")) {
        order.push_back({pass(token, text(token, "orders"), false), 0});
        trains = trains || order.back().what.kind != ashlar::pass_kind::forward;
      }
    }
    s.mode = mode_of(trains);
    must_count("devices", s.device_count());
    must_count("stages", stage_count);
    must_count("micro_batches", s.micro_batch_count());
    if (!file_.contains("starts")) return made_of(orders, "orders", [&] { return ashlar::squeeze(s); });
    json const& starts = list(file_["starts"], "starts");
    if (starts.size() != s.order.size())
      fail(starts,
           fmt::format("has starts of {} devices, but {} devices", starts.size(), s.order.size()));
    for (std::size_t d = 0; d < s.order.size(); ++d) {
      if (list(starts[d], "starts").size() != s.order[d].size())
        fail(starts[d], fmt::format("lacks starts of device {}", d));
      for (std::size_t i = 0; i < s.order[d].size(); ++i)
        s.order[d][i].start = ticks(starts[d][i], "starts", 0);  // a makespan counts from 0
    }
    find_pairs(s);
    return s;
  }

  ashlar::block block() const {
    ashlar::block b;
    b.where = placement();
    b.graph = graph_of_json(source_, b.where.stage_count());
    b.interval = ticks(at("interval"), "interval", 1);
    b.route = file_.contains("route") ? integers(file_["route"], "route", b.where.route_count() - 1)
                                      : std::vector<int>{0};
    b.cost = costs(b.where.stage_count(), b.where.device_count(), b.micro_batch_count());
    bool trains = false;
    for (auto const& [token, offset] : object(at("cells"), "cells").items()) {
      b.cells.push_back({pass(offset, token, true), ticks(offset, "cells", -ashlar::max_tick)});
      ashlar::pass const what = b.cells.back().what;
      if (what.stage >= b.where.stage_count() || what.micro_batch >= b.micro_batch_count())
        fail(offset, fmt::format("has a cell \"{}\", but {} stages and {} micro-batches", token,
                                 b.where.stage_count(), b.micro_batch_count()));
      trains = trains || what.kind != ashlar::pass_kind::forward;
    }
    b.mode = mode_of(trains);
    return b;
  }

  json const& file_;
  std::string unit_;  // of plain numbers
  bool in_ticks_ = false;
  time_scale scale_;
};

}  // namespace

schedule_file schedule_of_json(json_text const& source) { return schedule_reader(source).read(); }

}  // namespace tool
