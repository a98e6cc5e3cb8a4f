// The option that names a dialect of PyTorch's CSV.
#pragma once

#include "options/effects.hpp"
#include <ashlar/interop/csv_actions.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>

namespace tool {

inline ashlar::csv_dialect dialect_of(std::string_view name) {
  using enum ashlar::csv_dialect;
  for (ashlar::csv_dialect d : {b_bw, i_b, reduce_grad, waits})
    if (name == name_of(d)) return d;
  return detect;
}

inline effect effect_of_dialect(std::string const& format) {
  return {"--dialect", format == "pytorch" || format == "pytorch-comms",
          "with --as " + format + ": it is for pytorch and pytorch-comms"};
}

inline void add_dialect_option(CLI::App& command, std::string& dialect) {
  command
      .add_option(
          "--dialect", dialect,
          "of PyTorch's CSV: b-bw (to 2.5), i-b, reduce-grad (late 2025), waits (the newest); detect: "
          "when reading, found from the file; when writing, waits")
      ->check(CLI::IsMember({"detect", "b-bw", "i-b", "reduce-grad", "waits"}))
      ->type_name("DIALECT")
      ->capture_default_str();
}

}  // namespace tool
