// Definitions of json_flight_record.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/input_limits.hpp>
#include <ashlar/interop/json_flight_record.hpp>
#include <ashlar/interop/json_pickle.hpp>
#include <ashlar/interop/json_reader.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace ashlar::json_detail {

using nlohmann::json;

class flight_record_reader : json_reader {
 public:
  flight_record_reader(json_text const& source, int rank) : json_reader(source) { read_.rank = rank; }

  rank_record read() {
    std::string const version = text(at(source_.root(), "version"), "version");
    if (!version.starts_with("2."))
      fail(source_.root()["version"], "\"version\" must be 2.x, not '" + version.substr(0, 40) + "'");
    read_groups();
    // A recorder that has seen nothing writes no list.
    if (source_.root().contains("entries"))
      for (json const& entry : list(source_.root()["entries"], "entries")) add(entry);
    tell_states();
    return std::move(read_);
  }

 private:
  static constexpr long long most = 1LL << 62;

  void read_groups() {
    if (!source_.root().contains("pg_config")) return;
    for (auto const& [key, group] : object(source_.root()["pg_config"], "pg_config").items()) {
      recorded_group const one{.name = text(at(group, "name"), "name"),
                               .description = text(at(group, "desc"), "desc"),
                               .ranks = ranks_of(at(group, "ranks"))};
      // The native record of gloo knows its groups by no name.
      if (one.name.empty()) continue;
      indices_.emplace(std::pair(one.name, one.description), static_cast<int>(read_.groups.size()));
      read_.groups.push_back(one);
    }
  }

  // "[0, 1]", as both forms of a dump have it; or a list.
  std::vector<int> ranks_of(json const& value) const {
    std::vector<int> ranks;
    if (value.is_array()) {
      for (json const& one : value)
        ranks.push_back(static_cast<int>(whole(one, "ranks", 0, input_limits::cluster_devices)));
    } else {
      std::string const words = text(value, "ranks");
      char const* at = words.data();
      char const* const end = at + words.size();
      while (at != end) {
        if (*at < '0' || *at > '9') {
          ++at;
          continue;
        }
        int one = 0;
        auto const [next, error] = std::from_chars(at, end, one);
        if (error != std::errc() || one > input_limits::cluster_devices)
          fail(value, "\"ranks\" has a rank above " + std::to_string(input_limits::cluster_devices));
        ranks.push_back(one);
        at = next;
      }
    }
    std::vector<int> sorted = ranks;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
      fail(value, "\"ranks\" has a rank twice");
    return ranks;
  }

  int group_of(json const& entry) {
    json const& pair = list(at(entry, "process_group"), "process_group");
    if (pair.size() != 2) fail(pair, "\"process_group\" must be a name and a description");
    // A process that makes its groups anew gives old names to others; the description tells them apart.
    std::pair const key(text(pair[0], "process_group"), text(pair[1], "process_group"));
    auto const [found, is_new] = indices_.emplace(key, static_cast<int>(read_.groups.size()));
    if (is_new) read_.groups.push_back({.name = key.first, .description = key.second, .ranks = {}});
    return found->second;
  }

  recorded_tensors tensors(json const& entry, char const* sizes, char const* dtypes) const {
    recorded_tensors all;
    for (json const& one : list(at(entry, sizes), sizes)) {
      std::vector<long long> lengths;
      for (json const& length : list(one, sizes)) lengths.push_back(whole(length, sizes, 0, most));
      all.sizes.push_back(std::move(lengths));
    }
    if (entry.contains(dtypes))
      for (json const& one : list(entry[dtypes], dtypes)) all.dtypes.push_back(text(one, dtypes));
    return all;
  }

  // "nccl:send 0->1", "gloo:recv 3<-?", "nccl:all_reduce".
  void name(json const& value, recorded_operation& one, std::size_t group_size) const {
    std::string const words = text(value, "profiling_name");
    std::size_t const colon = words.rfind(':');
    if (colon == std::string::npos) fail(value, "\"profiling_name\" must be backend:operation");
    one.backend = words.substr(0, colon);
    std::string const rest = words.substr(colon + 1);
    std::size_t const blank = rest.find(' ');
    one.kind = rest.substr(0, blank);
    if (one.kind != "send" && one.kind != "recv") return;
    std::size_t const arrow = rest.find(one.kind == "send" ? "->" : "<-");
    if (blank == std::string::npos || arrow == std::string::npos)
      fail(value, "\"profiling_name\" must name the ranks of a transfer, as 'send 0->1'");
    std::string const peer = rest.substr(arrow + 2);
    if (peer == "?") return;
    auto const [end, error] = std::from_chars(peer.data(), peer.data() + peer.size(), one.peer);
    bool const is_known = group_size > 0;
    if (error != std::errc() || end != peer.data() + peer.size() || one.peer < 0
        || one.peer > input_limits::cluster_devices
        || (is_known && static_cast<std::size_t>(one.peer) >= group_size))
      fail(value, "'" + peer.substr(0, 40) + "' is no rank of the group");
  }

  static bool is_inside(std::string const& file, std::string_view part) {
    return file.find(part) != std::string::npos;
  }
  void lines(json const& entry, recorded_operation& one) const {
    auto const frames = entry.find("frames");
    if (frames == entry.end()) return;
    for (json const& frame : list(*frames, "frames")) {
      source_line here{.function = text(at(frame, "name"), "name"),
                       .file = text(at(frame, "filename"), "filename"),
                       .line = whole(at(frame, "line"), "line", -most, most)};
      if (is_inside(here.file, "torch/distributed/distributed_c10d.py")
          || is_inside(here.file, "torch/distributed/c10d_logger.py")
          || here.file.ends_with("/contextlib.py")) {
        one.is_in_batch = one.is_in_batch || here.function == "batch_isend_irecv";
        continue;
      }
      bool const is_of_torch = is_inside(here.file, "/torch/");
      if (one.lines.empty() || !is_of_torch) one.lines.push_back(std::move(here));
      if (!is_of_torch) return;
    }
  }

  void add(json const& entry) {
    recorded_operation one;
    one.id = whole(at(entry, "record_id"), "record_id", 0, most);
    one.group = group_of(entry);
    name(at(entry, "profiling_name"), one,
         read_.groups[static_cast<std::size_t>(one.group)].ranks.size());
    if (entry.contains("is_p2p")) {
      if (!entry["is_p2p"].is_boolean()) fail(entry["is_p2p"], "\"is_p2p\" must be true or false");
      one.is_transfer = entry["is_p2p"].get<bool>();
    } else {
      one.is_transfer = one.kind == "send" || one.kind == "recv";
    }
    char const* const sequence = one.is_transfer ? "p2p_seq_id" : "collective_seq_id";
    one.sequence = whole(at(entry, sequence), sequence, 0, most);
    one.inputs = tensors(entry, "input_sizes", "input_dtypes");
    one.outputs = tensors(entry, "output_sizes", "output_dtypes");
    if (entry.contains("time_created_ns"))
      one.created_ns = whole(entry["time_created_ns"], "time_created_ns", 0, most);
    std::string const state = text(at(entry, "state"), "state");
    if (state != "scheduled" && state != "started" && state != "completed")
      fail(entry["state"], "\"state\" must be scheduled, started or completed");
    one.state = state == "completed" ? recorded_state::completed : recorded_state::pending;
    bool const is_retired = entry.value("retired", json(false)) == json(true);
    retired_.push_back(is_retired);
    lines(entry, one);
    if (!read_.operations.empty() && one.id <= read_.operations.back().id)
      fail(entry, "\"record_id\" must grow from entry to entry");
    read_.is_whole = read_.is_whole && one.id == static_cast<long long>(read_.operations.size());
    read_.operations.push_back(std::move(one));
  }

  // Recorders that are not told of ends retire an operation as soon as it is issued.
  void tell_states() {
    for (recorded_operation const& one : read_.operations)
      if (one.state == recorded_state::completed) return;
    for (std::size_t i = 0; i < retired_.size(); ++i)
      if (retired_[i]) read_.operations[i].state = recorded_state::unknown;
  }

  rank_record read_;
  std::map<std::pair<std::string, std::string>, int> indices_;  // by name and description
  std::vector<bool> retired_;
};

}  // namespace ashlar::json_detail

namespace ashlar {

ASHLAR_INLINE rank_record read_flight_record(std::string_view bytes, int rank, std::string const& path) {
  json_text const source =
      is_pickle(bytes) ? parse_pickle(bytes, path) : parse_json(std::string(bytes), path);
  if (!source.root().is_object())
    throw input_error((path.empty() ? "" : "'" + path + "': ")
                      + std::string("a dump must be an object"));
  return json_detail::flight_record_reader(source, rank).read();
}

}  // namespace ashlar
