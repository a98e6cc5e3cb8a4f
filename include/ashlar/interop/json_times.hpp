// The times in a file of a schedule or of a building block.
#pragma once

#include <ashlar/core/ticks.hpp>
#include <ashlar/interop/durations.hpp>
#include <ashlar/interop/json_reader.hpp>

#include <string>
#include <vector>

namespace ashlar {

// Reads times. They are whole ticks if `costs` has `ticks_per_unit`. Otherwise they are as in
// read_duration(), with a tick so short that all are whole.
class json_times : json_reader {
 public:
  // Throws input_error if some times have units and others have none.
  explicit json_times(json_text const& source);

  time_scale const& scale() const { return scale_; }
  // The first time with more than most_decimals decimals, as written; empty: none.
  std::string const& rounded() const { return rounded_; }
  // The default time of a pass.
  tick one() const { return in_ticks_ ? 1 : scale_.ticks_per_unit; }
  // Throws input_error unless the value is a time from `least` to `most`.
  tick ticks(nlohmann::json const& value, char const* key, tick least, tick most = max_tick) const;

 private:
  // Offsets may be negative.
  struct signed_duration {
    duration length;
    bool negative = false;
  };

  // Calls `make`; its errors get the place of the value.
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
