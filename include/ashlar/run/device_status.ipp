// Definitions of device_status.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/run/device_status.hpp>

namespace ashlar {

ASHLAR_INLINE std::string name_of_device(program_view const& p, int number) {
  std::string const rank =
      p.data_ranks > 1 ? "rank " + std::to_string(number / p.device_count) + ", " : "";
  return rank + "device " + std::to_string(number % p.device_count);
}

ASHLAR_INLINE std::string describe(program_view const& p, int number, device_status const& s,
                                   function_ref<std::string(int)> name) {
  std::string const time = std::to_string(s.for_ms) + " ms";
  std::string const between = "between steps " + std::to_string(s.step) + " and "
                              + std::to_string(s.step < max_tick ? s.step + 1 : s.step);
  if (s.what == activity::between_steps) return "has been " + between + " for " + time;
  if (s.what == activity::synchronizes) return "has waited " + time + " for all others " + between;
  std::string text = (s.what == activity::computes ? "has computed for " : "has waited ") + time;
  if (s.index < 0)
    return text + (s.what == activity::computes ? " " + between : " for nothing that is under way");
  if (s.missing >= 0) text += " for " + name(s.missing);
  if (s.missing_count > 1) text += " and " + std::to_string(s.missing_count - 1) + " more";
  if (number < 0 || p.device_count < 1) return text;
  list_view<instruction> const stream = p.stream(number % p.device_count);
  if (static_cast<std::size_t>(s.index) >= stream.size()) return text;
  instruction const& i = nth(stream, s.index);
  return text + ": " + to_string(i) + " (position " + std::to_string(s.index) + " of step "
         + std::to_string(s.step) + ")";
}

}  // namespace ashlar
