// Refuses options that are given where they have no effect: a table says which these are, and where.
#pragma once

#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/simulate/options.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace tool {

// Says whether an option has an effect. `where` ends the sentence that it has none: "on 1f1b: it is for
// hanayo", "without --sharding".
struct effect {
  char const* option;
  bool is_there;
  std::string where;
};

bool is_given(CLI::App const& command, char const* option);

// Throws usage_error for the first option that the command line gives without effect.
void must_have_effect(CLI::App const& command, std::vector<effect> const& all);

// Effects of the parameters that schedules leave to the reader, on some of them, which `names` calls.
std::vector<effect> effects_on(std::vector<ashlar::catalog::entry const*> const& entries,
                               std::string const& names);

// Effects of costs, where schedules as a whole, called `names`, are in training, have overlapped pairs,
// and cut sequences into chunks.
struct pass_traits {
  bool trains = false, overlaps = false, recomputes = false, cuts_sequences = false;
};
pass_traits traits_of(std::vector<ashlar::schedule const*> const& all);
std::vector<effect> effects_on(pass_traits const& traits, std::string const& names);

// Effects of the options for lowering on this schedule.
std::vector<effect> effects_on(ashlar::lower_options const& lowering, ashlar::schedule const& s,
                               std::string const& name);

// Effects of links, sums and sizes on a simulation.
std::vector<effect> effects_on(ashlar::simulation_options const& how, ashlar::program const& low,
                               std::string const& name);

// The flags that give costs.
std::vector<char const*> const& cost_flags();

}  // namespace tool
