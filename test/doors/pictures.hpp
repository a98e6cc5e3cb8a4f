// Pictures of schedules and blocks.
#pragma once

#include "doors/knock.hpp"
#include <ashlar/render/activations.hpp>
#include <ashlar/render/chrome_trace.hpp>
#include <ashlar/render/html.hpp>
#include <ashlar/render/svg.hpp>
#include <ashlar/render/text.hpp>

#include <cstddef>
#include <string>

namespace doors {

inline void of_pictures(dice& d) {
  catalog::entry const& e = some_entry(d);
  schedule s = e.make({devices{2}, micro_batches{4}});
  for (int changes = d.between(0, 2); changes > 0; --changes) change(d, s);
  std::string const name(static_cast<std::size_t>(d.between(0, 3)),
                         static_cast<char>(d.between(0, 255)));
  time_unit const unit{extreme(d, tick{1}), name};
  constexpr std::size_t most = 1 << 22;
  knock([&] { demand(text(s, {false, extreme(d, 80), unit.ticks}).size() < most); });
  knock([&] {
    demand(svg(s, {.title = name,
                   .widest = extreme_real(d, 400),
                   .transfers = d.percent(50),
                   .memory = d.percent(50),
                   .unit = unit})
               .size()
           < most);
  });
  knock([&] { demand(html(s, {.title = name, .name = name, .unit = unit}).size() < most); });
  knock([&] { chrome_trace(s, extreme_real(d, 1000)); });
  knock([&] { held_activations(s); });
  if (e.block_of == nullptr) return;
  block b = e.block_of({devices{2}, micro_batches{4}});
  for (int changes = d.between(0, 2); changes > 0; --changes) change(d, b);
  knock([&] { demand(text(b, {false, extreme(d, 80), unit.ticks}).size() < most); });
  knock([&] { demand(svg(b, {.title = name, .widest = extreme_real(d, 400)}).size() < most); });
}

}  // namespace doors
