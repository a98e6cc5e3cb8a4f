#include "schedule_files.hpp"

#include "command.hpp"
#include "files.hpp"
#include "graph_files.hpp"
#include "json_files.hpp"
#include "limits.hpp"
#include "memory_cap.hpp"
#include "overlapped_pairs.hpp"
#include "pass_token.hpp"
#include <ashlar/block/algebra.hpp>
#include <ashlar/interop/pytorch_csv.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

namespace {

using nlohmann::json;

// Reads one file of JSON: what is wrong is said with the path.
class schedule_reader {
 public:
  explicit schedule_reader(json_text const& source) : source_(source), file_(source.root) {}

  [[noreturn]] void fail(json const& at, std::string const& what) const {
    throw usage_error(fmt::format("{}: {}", source_.place_of(at), what));
  }

  json const& at(json const& object, char const* key) const {
    if (!object.is_object() || !object.contains(key)) fail(object, fmt::format("lacks \"{}\"", key));
    return object[key];
  }
  json const& at(char const* key) const { return at(file_, key); }

  long long integer(json const& value, char const* what, long long least, long long most) const {
    if (!value.is_number_integer() || value < least || value > most)
      fail(value, fmt::format("must give whole numbers from {} to {} as {}", least, most, what));
    return value.get<long long>();
  }

  std::vector<int> integers(json const& list, char const* what, long long most) const {
    if (!list.is_array()) fail(list, fmt::format("must give a list as {}", what));
    std::vector<int> all;
    for (json const& value : list) all.push_back(static_cast<int>(integer(value, what, 0, most)));
    return all;
  }

  // Devices by stage, of one route or of several.
  ashlar::placement placement() const {
    json const& given = at("placement");
    std::vector<std::vector<int>> routes;
    int most = 0;
    if (!given.is_array() || given.empty()) fail(given, "must give a list of devices as \"placement\"");
    auto const add = [&](json const& route) {
      routes.push_back(integers(route, "devices of \"placement\"", most_devices - 1));
      for (int const device : routes.back()) most = std::max(most, device);
    };
    if (given[0].is_array())
      for (json const& route : given) add(route);
    else
      add(given);
    return {ashlar::devices{most + 1}, routes};
  }

  ashlar::costs costs(int stage_count, int device_count) const {
    ashlar::costs read;
    if (!file_.contains("costs")) return read;
    json const& given = at("costs");
    auto const ticks = [&](json const& object, char const* key, ashlar::tick least,
                           ashlar::tick otherwise) {
      return object.contains(key) ? integer(object[key], key, least, ashlar::max_tick) : otherwise;
    };
    auto const stage = [&](json const& object) {
      return ashlar::stage_cost{
          .forward = ticks(object, "forward", 1, 1),
          .backward_input = ticks(object, "backward_input", 1, 1),
          .backward_weight = ticks(object, "backward_weight", 1, 1),
          .recompute = ticks(object, "recompute", 1, ashlar::stage_cost::same_as_forward)};
    };
    read.per_stage = {stage(given)};
    if (given.contains("per_stage")) {
      read.per_stage.clear();
      for (json const& one : given["per_stage"]) read.per_stage.push_back(stage(one));
      if (static_cast<int>(read.per_stage.size()) != stage_count)
        fail(given["per_stage"],
             fmt::format("has costs of {} stages, but {} stages", read.per_stage.size(), stage_count));
    }
    ashlar::tick const transfer = ticks(given, "transfer", 0, 0);
    read.links.inside.latency = transfer;
    read.links.between.latency = ticks(given, "transfer_between_nodes", 0, transfer);
    if (given.contains("node_size"))
      read.links.node_size = static_cast<int>(integer(given["node_size"], "node_size", 0, most_devices));
    if (given.contains("speeds")) {
      read.speeds = integers(given["speeds"], "speeds", most_percent);
      if (static_cast<int>(read.speeds.size()) != device_count)
        fail(given["speeds"],
             fmt::format("has speeds of {} devices, but {} devices", read.speeds.size(), device_count));
    }
    read.overlapped = ticks(given, "overlapped", 1, ashlar::costs::one_after_the_other);
    return read;
  }

  // 2F0; of a building block also 2F, of its first micro-batch.
  ashlar::pass pass(json const& at, std::string_view token, bool of_block) const {
    if (auto const what = read_pass(token, of_block)) return *what;
    fail(at, fmt::format("has \"{}\" for a pass, which is written like 2F0", token.substr(0, 64)));
  }

  // In which ticks its costs are.
  time_scale scale() const {
    time_scale given;
    if (!file_.contains("costs")) return given;
    json const& cost = file_["costs"];
    if (cost.contains("ticks_per_unit"))
      given.ticks_per_unit = integer(cost["ticks_per_unit"], "\"ticks_per_unit\"", 1, ashlar::max_tick);
    if (cost.contains("time_unit"))
      given.unit = read_duration(source_.path, "1" + cost["time_unit"].get<std::string>(), 1).unit;
    return given;
  }

  bool starts_given() const { return file_.contains("starts"); }

 private:
  json_text const& source_;
  json const& file_;
};

ashlar::execution_mode mode_of(bool trains) {
  return trains ? ashlar::execution_mode::training : ashlar::execution_mode::inference;
}

ashlar::schedule schedule_of_csv(std::string const& text, std::string const& path) {
  ashlar::csv_problems problems(1);
  ashlar::csv_tokens tokens = ashlar::read_csv_tokens(text, {.most_problems = 1}, problems);
  for (auto& line : tokens.lines)  // what is lowered again has transfers of its own
    line.erase(std::remove_if(line.begin(), line.end(),
                              [](ashlar::csv_token const& t) { return !t.computes(); }),
               line.end());
  tokens.others = 0;
  auto const refuse = [&](std::vector<ashlar::csv_problem> const& found) {
    throw usage_error(fmt::format("'{}': {}", path, to_string(found.at(0))));
  };
  if (!problems.none()) refuse(problems.take());
  must_fit_in_memory(fmt::format("the tokens of '{}'", path), static_cast<double>(tokens.count));
  ashlar::csv_schedule read = ashlar::read_pytorch_csv(tokens, problems);
  if (!read.value) refuse(read.problems);
  return std::move(*read.value);
}

}  // namespace

ashlar::schedule schedule_of_json(json_text const& source) {
  schedule_reader const read(source);
  json const& file = source.root;
  ashlar::schedule s;
  s.where = read.placement();
  int const stage_count = s.where.stage_count();
  s.graph = graph_of_json(source, stage_count);
  if (file.contains("sequence_chunks"))
    s.graph = in_sequence_chunks(
        s.graph, static_cast<int>(read.integer(file["sequence_chunks"], "\"sequence_chunks\"", 1,
                                               most_sequence_chunks)));
  s.route = read.integers(read.at("route"), "\"route\"", s.where.route_count() - 1);
  s.cost = read.costs(stage_count, s.device_count());
  json const& orders = read.at("orders");
  if (static_cast<int>(orders.size()) != s.device_count())
    read.fail(orders,
              fmt::format("has orders of {} devices, but {} devices", orders.size(), s.device_count()));
  bool trains = false;
  for (json const& tokens : orders) {
    auto& order = s.order.emplace_back();
    for (json const& token : tokens) {
      order.push_back({read.pass(token, token.get<std::string>(), false), 0});
      trains = trains || order.back().what.kind != ashlar::pass_kind::forward;
    }
  }
  s.mode = mode_of(trains);
  if (!read.starts_given()) return ashlar::squeeze(std::move(s));
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    json const& starts = read.at("starts").at(d);
    if (starts.size() != s.order[d].size())
      read.fail(starts, fmt::format("lacks starts of device {}", d));
    for (std::size_t i = 0; i < starts.size(); ++i)
      s.order[d][i].start = read.integer(starts[i], "\"starts\"", -ashlar::max_tick, ashlar::max_tick);
    find_pairs(s.order[d]);
  }
  return s;
}

time_scale scale_of_json(json_text const& source) { return schedule_reader(source).scale(); }

ashlar::block block_of_json(json_text const& source) {
  schedule_reader const read(source);
  json const& file = source.root;
  ashlar::block b;
  b.where = read.placement();
  b.graph = graph_of_json(source, b.where.stage_count());
  b.cost = read.costs(b.where.stage_count(), b.where.device_count());
  b.interval = read.integer(read.at("interval"), "\"interval\"", 1, ashlar::max_tick);
  b.route = file.contains("route") ? read.integers(file["route"], "\"route\"", b.where.route_count() - 1)
                                   : std::vector<int>{0};
  bool trains = false;
  for (auto const& [token, offset] : read.at("cells").items()) {
    b.cells.push_back(
        {read.pass(offset, token, true),
         read.integer(offset, "offsets of \"cells\"", -ashlar::max_tick, ashlar::max_tick)});
    ashlar::pass const what = b.cells.back().what;
    if (what.stage >= b.where.stage_count() || what.micro_batch >= b.micro_batch_count())
      read.fail(offset, fmt::format("has a cell \"{}\", but {} stages and {} micro-batches", token,
                                    b.where.stage_count(), b.micro_batch_count()));
    trains = trains || what.kind != ashlar::pass_kind::forward;
  }
  b.mode = mode_of(trains);
  return b;
}

void must_fit_stages(ashlar::costs const& cost, ashlar::schedule const& s, std::string const& path) {
  if (cost.per_stage.size() != 1 && static_cast<int>(cost.per_stage.size()) != s.stage_count())
    throw usage_error(fmt::format("'{}' has costs of {} stages, but there are {} stages", path,
                                  cost.per_stage.size(), s.stage_count()));
}

schedule_file read_schedule(std::string const& path, long long micro_batches, cost_options const& cost) {
  std::string const text = read_text(path);
  schedule_file out;
  if (!holds_json(text)) {
    out.schedule = schedule_of_csv(text, path);
  } else {
    try {
      json_text const source{path, text, parse_json(text, path)};
      json const& file = source.root;
      if (file.contains("schedule")) out.name = file["schedule"].get<std::string>();
      if (file.contains("cells")) {
        out.block = block_of_json(source);
        if (micro_batches == 0) micro_batches = out.block->micro_batch_count();
        must_fit_in_memory(
            fmt::format("{} micro-batches of '{}'", micro_batches, path),
            static_cast<double>(micro_batches) * static_cast<double>(out.block->cells.size()));
        if (micro_batches % out.block->micro_batch_count() != 0)
          throw usage_error(fmt::format("'{}' has {} micro-batches, of which {} is no multiple", path,
                                        out.block->micro_batch_count(), micro_batches));
        out.schedule = *out.block
                       | ashlar::repeat(ashlar::micro_batches{static_cast<int>(micro_batches)})
                       | ashlar::squeeze();
      } else {
        out.schedule = schedule_of_json(source);
      }
      out.scale = scale_of_json(source);
    } catch (json::exception const& e) {
      throw usage_error(fmt::format("'{}' is no schedule: {}", path, e.what()));
    }
  }
  if (cost.are_given()) {
    out.scale = scale_of(cost);
    ashlar::costs const given = costs_of(cost, out.schedule.device_count());
    must_fit_stages(given, out.schedule, cost.stages_from());
    out.schedule = ashlar::retime(std::move(out.schedule), given);
  }
  if (ashlar::diagnosis const d = ashlar::check(out.schedule); !d.ok()) throw ashlar::violation{d};
  return out;
}

}  // namespace tool
