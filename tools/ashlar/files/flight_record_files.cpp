#include "files/flight_record_files.hpp"

#include "command.hpp"
#include "files/files.hpp"
#include "files/profile_files.hpp"
#include <ashlar/interop/input_limits.hpp>
#include <ashlar/interop/json_flight_record.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

namespace tool {

namespace {

// "comm_lib_trace_rank_12", "rank3.json".
std::optional<int> rank_of(std::string const& path) {
  std::string const name = std::filesystem::path(path).filename().string();
  std::string_view stem = name;
  for (std::string_view const ending : {".json", ".pickle", ".pkl"})
    if (stem.ends_with(ending)) stem.remove_suffix(ending.size());
  std::size_t const begin = stem.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
  int rank = 0;
  auto const [end, error] = std::from_chars(stem.data() + begin, stem.data() + stem.size(), rank);
  if (begin == stem.size() || error != std::errc() || rank > ashlar::input_limits::cluster_devices)
    return std::nullopt;
  return rank;
}

std::vector<std::string> files_of(std::string const& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    if (!is_folder(at->path().string()) && rank_of(at->path().string()))
      names.push_back(at->path().string());
  if (error) throw usage_error(fmt::format("cannot read '{}': {}", folder, error.message()));
  if (names.empty())
    throw usage_error(
        fmt::format("the folder '{}' has no file whose name ends in a rank, as rank_0 does", folder));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::vector<ashlar::rank_record> read_flight_records(std::vector<std::string> const& paths) {
  std::vector<std::string> files;
  for (std::string const& path : paths)
    if (is_folder(path))
      for (std::string& file : files_of(path)) files.push_back(std::move(file));
    else
      files.push_back(path);
  std::vector<ashlar::rank_record> records;
  std::set<int> ranks;
  for (std::string const& file : files) {
    std::optional<int> const rank = rank_of(file);
    if (!rank)
      throw usage_error(
          fmt::format("'{}' does not end in its rank, as rank_0 and rank_0.json do", file));
    if (!ranks.insert(*rank).second)
      throw usage_error(fmt::format("'{}' is a second dump of rank {}", file, *rank));
    records.push_back(ashlar::read_flight_record(read_bytes(file), *rank, file));
  }
  std::sort(records.begin(), records.end(),
            [](auto const& a, auto const& b) { return a.rank < b.rank; });
  return records;
}

}  // namespace tool
