// Definitions of json_times.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/json_times.hpp>

#include <nlohmann/json.hpp>

#include <utility>

namespace ashlar {

template <class Make>
auto json_times::placed(nlohmann::json const& value, Make make) const {
  try {
    return make();
  } catch (input_error const& e) {
    fail(value, e.what());
  }
}

// The unit is the given one, or that of the first time with one.
ASHLAR_INLINE json_times::json_times(json_text const& source) : json_reader(source) {
  nlohmann::json const& file = source.root();
  std::vector<duration> all;
  if (file.contains("costs")) {
    nlohmann::json const& cost = object(file["costs"], "costs");
    if (cost.contains("time_unit")) {
      nlohmann::json const& unit = cost["time_unit"];
      unit_ =
          placed(unit, [&] { return read_duration("a time", "1" + text(unit, "time_unit"), 1).unit; });
      all.push_back({.given_by = "\"time_unit\"", .unit = unit_});
    }
    if (cost.contains("ticks_per_unit")) {
      in_ticks_ = true;
      scale_ = {whole(cost["ticks_per_unit"], "ticks_per_unit", 1, max_tick), unit_};
      return;
    }
    collect_costs(cost, all);
    for (char const* const key : {"per_stage", "levels", "links"})
      if (cost.contains(key))
        for (nlohmann::json const& one : list(cost[key], key)) collect_costs(one, all);
  }
  for (char const* const key : {"interval", "cells", "starts"})
    if (file.contains(key)) collect(file[key], key, all);
  scale_ = placed(file, [&] { return scale_of(all); });
}

ASHLAR_INLINE tick json_times::ticks(nlohmann::json const& value, char const* key, tick least,
                                     tick most) const {
  if (in_ticks_ || (scale_.is_plain() && value.is_number_integer()))
    return whole(value, key, least, most);
  signed_duration const t = time(value, key);
  tick const length = placed(value, [&] { return ticks_of(t.length, scale_); });
  tick const counted = t.negative ? -length : length;
  if (counted < least || counted > most)
    fail(value, "\"" + std::string(key) + "\" must be from " + scale_.words(least) + " to "
                    + scale_.words(most));
  return counted;
}

ASHLAR_INLINE json_times::signed_duration json_times::time(nlohmann::json const& value,
                                                           char const* key) const {
  std::string const quoted = "\"" + std::string(key) + "\"";
  if (!value.is_number() && !value.is_string())
    fail(value, quoted + " must be a time like 3, 1.5 or \"12.5ms\"");
  std::string const written = value.is_string() ? value.get<std::string>() : value.dump();
  bool const negative = written.starts_with('-');
  duration d = placed(value, [&] { return read_duration(quoted, written.substr(negative ? 1 : 0), 0); });
  if (d.unit.empty()) d.unit = unit_;
  return {std::move(d), negative};
}

ASHLAR_INLINE void json_times::collect_costs(nlohmann::json const& cost, std::vector<duration>& all) {
  for (char const* const key : {"forward", "backward_input", "backward_weight", "recompute", "transfer",
                                "transfer_between_nodes", "overlapped"})
    if (cost.contains(key)) collect(cost[key], key, all);
}

// Plain whole numbers are whole in any ticks.
ASHLAR_INLINE void json_times::collect(nlohmann::json const& value, char const* key,
                                       std::vector<duration>& all) {
  if (value.is_structured()) {
    for (nlohmann::json const& inner : value) collect(inner, key, all);
  } else if (!value.is_number_integer()) {
    all.push_back(time(value, key).length);
    if (all.back().is_rounded && rounded_.empty())
      rounded_ = value.is_string() ? value.get<std::string>() : value.dump();
  }
}

}  // namespace ashlar
