// ashlar list: the schedules of the catalog.
#include "command.hpp"
#include "options/placement_name.hpp"
#include <ashlar/catalog/searched_entries.hpp>

#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

namespace {

// The placement at a size that most schedules have.
std::string placement_of(ashlar::catalog::entry const& e) {
  try {
    return placement_name(e.make({ashlar::devices{4}, ashlar::micro_batches{8}}).where);
  } catch (ashlar::violation const&) {
    return "-";
  }
}

std::string other_names_of(ashlar::catalog::entry const& e) {
  std::vector<std::string_view> names;
  for (ashlar::catalog::other_name const& other : ashlar::catalog::other_names)
    if (std::string_view(other.entry) == e.name) names.emplace_back(other.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

int list() {
  std::vector<ashlar::catalog::entry const*> all(ashlar::catalog::all_entries.begin(),
                                                 ashlar::catalog::all_entries.end());
  for (ashlar::catalog::entry const& e : ashlar::catalog::vocabulary_entries) all.push_back(&e);
  std::size_t name = 4, placement = 9, summary = 7;
  for (ashlar::catalog::entry const* e : all) {
    name = std::max(name, std::string_view(e->name).size());
    placement = std::max(placement, placement_of(*e).size());
    summary = std::max(summary, std::string_view(e->summary).size());
  }
  fmt::print("{:{}}  {:{}}  {:{}}  {}\n", "name", name, "placement", placement, "summary", summary,
             "source");
  for (ashlar::catalog::entry const* e : all)
    fmt::print("{:{}}  {:{}}  {:{}}  {}\n", e->name, name, placement_of(*e), placement, e->summary,
               summary, e->source);
  fmt::print("\nother names, in which case and hyphens do not matter:\n");
  for (ashlar::catalog::entry const* e : all)
    if (std::string const names = other_names_of(*e); !names.empty())
      fmt::print("{:{}}  {}\n", e->name, name, names);
  return done;
}

}  // namespace

void add_list(CLI::App& app, action& chosen) {
  auto* const command =
      app.add_subcommand("list", "List the schedules by name, placement, summary and source");
  command->callback([&chosen] { chosen = list; });
}

}  // namespace tool
