// Exports for other systems.
#pragma once

#include "doors/knock.hpp"
#include <ashlar/interop/durations.hpp>
#include <ashlar/interop/input_error.hpp>
#include <ashlar/interop/json.hpp>
#include <ashlar/interop/json_schedule.hpp>
#include <ashlar/interop/pytorch_csv.hpp>

#include <cstddef>
#include <string>

namespace doors {

inline void of_exports(dice& d) {
  schedule s = some_entry(d).make({devices{2}, micro_batches{4}});
  for (int changes = d.between(0, 3); changes > 0; --changes) change(d, s);
  knock([&] { pytorch_csv(s, any_of<csv_dialect>(d, 4)); });
  std::string name;
  for (int i = d.between(0, 4); i > 0; --i) name += static_cast<char>(d.between(0, 255));
  time_scale const scale{extreme(d, 1LL), d.percent(50) ? "ms" : name};
  knock([&] {
    std::string const written = to_json(s, name, scale).dump();
    if (!check(s).ok() || scale.ticks_per_unit < 1 || (scale.unit != "ms" && !scale.unit.empty()))
      return;
    try {
      demand(to_json(read_json_schedule(written).schedule, name, scale).dump() == written);
    } catch (input_error const&) {
      demand(false);
    }
  });
  scale.words(extreme(d, tick{1}));
  scale.tick_ns();
  std::string text;
  char const letters[] = "0123456789.eE-+ munsx";
  for (int i = d.between(0, 9); i > 0; --i) text += letters[d.between(0, 20)];
  try {
    duration const one = read_duration("x", text, d.percent(80) ? 0 : extreme(d, 0LL));
    ticks_of(one, scale_of({one}));
    ticks_of(one, scale);
  } catch (input_error const&) {
  }
}

}  // namespace doors
