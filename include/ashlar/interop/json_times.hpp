// The times in a file of a schedule or of a building block.
#pragma once

#include <ashlar/core/ticks.hpp>
#include <ashlar/interop/durations.hpp>
#include <ashlar/interop/json_reader.hpp>

#include <string>
#include <vector>

namespace ashlar {

// They are whole ticks where `costs` says how many make a unit (`ticks_per_unit`). Else they are as
// read_duration() has them, in ticks so short that all are whole.
class json_times : json_reader {
 public:
  // Throws input_error for times of which some have units and some have none.
  explicit json_times(json_text const& source);

  time_scale const& scale() const { return scale_; }
  // The first time, as it is written, that has more decimals than are counted; empty: none has.
  std::string const& rounded() const { return rounded_; }
  // How long a pass takes of which nothing is said.
  tick one() const { return in_ticks_ ? 1 : scale_.ticks_per_unit; }
  // Throws input_error for what is no time from `least` to `most`.
  tick ticks(nlohmann::json const& value, char const* key, tick least, tick most = max_tick) const;

 private:
  // Offsets may be negative.
  struct signed_duration {
    duration length;
    bool negative = false;
  };

  // Errors of what `make` does have the place of the value.
  template <class Make>
  auto placed(nlohmann::json const& value, Make make) const;
  signed_duration time(nlohmann::json const& value, char const* key) const;
  void collect_costs(nlohmann::json const& cost, std::vector<duration>& all);
  void collect(nlohmann::json const& value, char const* key, std::vector<duration>& all);

  std::string unit_;  // of plain numbers
  bool in_ticks_ = false;
  time_scale scale_;
  std::string rounded_;
};

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/json_times.ipp>
#endif
