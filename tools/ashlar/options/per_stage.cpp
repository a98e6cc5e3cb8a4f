#include "options/per_stage.hpp"

#include "command.hpp"
#include "files/files.hpp"
#include "options/byte_options.hpp"
#include "options/limits.hpp"
#include "report/table_lines.hpp"
#include <ashlar/core/ticks.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

namespace tool {

namespace {

// Whether a first line names columns. Throws usage_error if they are not these, in this order.
bool is_header(std::string const& where, std::vector<std::string_view> const& cells,
               std::vector<std::string_view> const& columns) {
  for (std::string_view const cell : cells)
    if (cell.empty() || !std::isalpha(static_cast<unsigned char>(cell[0]))) return false;
  if (cells.size() > columns.size() || !std::equal(cells.begin(), cells.end(), columns.begin()))
    throw usage_error(
        fmt::format("{}: the columns are `{}`, in this order", where, fmt::join(columns, ",")));
  return true;
}

// Makes one entry for each line of the file but a header: entry_of(where, cells), `where` for messages.
template <class EntryOf>
auto read_stages(std::string const& path, char const* what, std::vector<std::string_view> columns,
                 EntryOf entry_of) {
  std::string const text = read_text(path);
  std::vector<decltype(entry_of(std::string(), {}))> entries;
  bool is_first = true;
  for_each_line(text, [&](int number, std::vector<std::string_view> const& cells) {
    std::string const where = fmt::format("'{}', line {}", path, number);
    if (std::exchange(is_first, false) && is_header(where, cells, columns)) return;
    entries.push_back(entry_of(where, cells));
    if (static_cast<long long>(entries.size()) > most_passes)
      throw usage_error(fmt::format("'{}' has more than {} stages", path, most_passes));
  });
  if (entries.empty()) throw usage_error(fmt::format("'{}' has no {}", path, what));
  return entries;
}

stage_durations times_of(std::string const& where, std::vector<std::string_view> const& cells) {
  stage_durations times;
  for (std::size_t i = 0; i < times.size(); ++i)
    times[i] = read_duration(where + ": a cost", cells[i], 0);
  return times;
}

// Reads three times for each and, if one has them, a size of the name given and a stash.
std::vector<sized_line> read_sized(std::string const& path, char const* one, char const* all,
                                   char const* size) {
  std::size_t columns = 0;
  return read_stages(
      path, all, {"forward", "backward_input", "backward_weight", size, "stash"},
      [&](std::string const& where, std::vector<std::string_view> const& cells) {
        constexpr std::size_t times = std::tuple_size_v<stage_durations>, most = times + 2;
        if (cells.size() != times && cells.size() != most)
          throw usage_error(
              fmt::format("{}: a {} has three times and perhaps two sizes, "
                          "`forward,backward_input,backward_weight,{},stash`",
                          where, one, size));
        if (columns == 0) columns = cells.size();
        if (cells.size() != columns)
          throw usage_error(fmt::format("{}: either all {} have sizes or none has", where, all));
        sized_line line{.times = times_of(where, cells)};
        for (std::size_t i = times; i < cells.size(); ++i)
          line.sizes.push_back(read_bytes(where + ": a size", std::string(cells[i])));
        if (!line.sizes.empty() && line.sizes[1] < 1)
          throw usage_error(fmt::format("{}: a stash must be of 1 byte or more", where));
        return line;
      });
}

}  // namespace

std::vector<stage_durations> read_passes(std::string const& path) {
  return read_stages(path, "costs", {"forward", "backward_input", "backward_weight"},
                     [](std::string const& where, std::vector<std::string_view> const& cells) {
                       if (cells.size() != stage_durations().size())
                         throw usage_error(
                             fmt::format("{}: costs are three times from 0 to {}, "
                                         "`forward,backward_input,backward_weight`",
                                         where, ashlar::max_tick));
                       return times_of(where, cells);
                     });
}

std::vector<sized_line> read_per_layer(std::string const& path) {
  return read_sized(path, "layer", "layers", "resident");
}

std::vector<sized_line> read_per_micro_batch(std::string const& path) {
  return read_sized(path, "micro-batch", "micro-batches", "message");
}

std::vector<ashlar::stage_memory> read_per_stage_bytes(std::string const& path) {
  return read_stages(
      path, "sizes", {"resident", "stash", "left"},
      [](std::string const& where, std::vector<std::string_view> const& cells) {
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
