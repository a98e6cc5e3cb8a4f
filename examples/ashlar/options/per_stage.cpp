#include "options/per_stage.hpp"

#include "command.hpp"
#include "files/files.hpp"
#include "options/byte_options.hpp"
#include "options/limits.hpp"
#include "report/table_lines.hpp"
#include <ashlar/core/ticks.hpp>

#include <fmt/core.h>

#include <cstddef>
#include <string_view>
#include <tuple>

namespace tool {

namespace {

// One entry for each line of the file: entry_of(where, cells), `where` for messages.
template <class EntryOf>
auto read_stages(std::string const& path, char const* what, EntryOf entry_of) {
  std::string const text = read_text(path);
  std::vector<decltype(entry_of(std::string(), {}))> entries;
  for_each_line(text, [&](int number, std::vector<std::string_view> const& cells) {
    entries.push_back(entry_of(fmt::format("'{}', line {}", path, number), cells));
    if (static_cast<long long>(entries.size()) > most_passes)
      throw usage_error(fmt::format("'{}' has more than {} stages", path, most_passes));
  });
  if (entries.empty()) throw usage_error(fmt::format("'{}' has no {}", path, what));
  return entries;
}

stage_durations times_of(std::string const& where, std::vector<std::string_view> const& cells) {
  stage_durations times;
  for (std::size_t i = 0; i < times.size(); ++i)
    times[i] = read_duration(where + ": a cost", cells[i], 1);
  return times;
}

}  // namespace

std::vector<stage_durations> read_per_stage(std::string const& path) {
  return read_stages(path, "costs",
                     [](std::string const& where, std::vector<std::string_view> const& cells) {
                       if (cells.size() != stage_durations().size())
                         throw usage_error(
                             fmt::format("{}: a stage's costs are three times from 1 to {}, "
                                         "`forward,backward_input,backward_weight`",
                                         where, ashlar::max_tick));
                       return times_of(where, cells);
                     });
}

std::vector<layer_line> read_per_layer(std::string const& path) {
  std::size_t columns = 0;
  return read_stages(
      path, "layers", [&](std::string const& where, std::vector<std::string_view> const& cells) {
        constexpr std::size_t times = std::tuple_size_v<stage_durations>, all = times + 2;
        if (cells.size() != times && cells.size() != all)
          throw usage_error(
              fmt::format("{}: a layer has three times and perhaps two sizes, "
                          "`forward,backward_input,backward_weight,resident,stash`",
                          where));
        if (columns == 0) columns = cells.size();
        if (cells.size() != columns)
          throw usage_error(fmt::format("{}: either all layers have sizes or none has", where));
        layer_line layer{.times = times_of(where, cells)};
        for (std::size_t i = times; i < cells.size(); ++i)
          layer.sizes.push_back(read_bytes(where + ": a size", std::string(cells[i])));
        return layer;
      });
}

std::vector<ashlar::stage_memory> read_per_stage_bytes(std::string const& path) {
  return read_stages(
      path, "sizes", [](std::string const& where, std::vector<std::string_view> const& cells) {
        if (cells.size() != 2 && cells.size() != 3)
          throw usage_error(
              fmt::format("{}: a stage's sizes are two or three, `resident,stash,left`", where));
        auto const size = [&](std::size_t i) {
          return read_bytes(where + ": a size", std::string(cells[i]));
        };
        ashlar::stage_memory stage{.weights = size(0), .stash = size(1)};
        if (cells.size() == 3) stage.stash_left = size(2);
        if (stage.stash < 1 || stage.stash_left > stage.stash)
          throw usage_error(fmt::format(
              "{}: a stash must be of 1 byte or more, and no more than that be left", where));
        return stage;
      });
}

}  // namespace tool
