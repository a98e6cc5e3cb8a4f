#include "predict/schedule_choice.hpp"

#include "command.hpp"
#include "files/schedule_files.hpp"
#include "predict/names.hpp"
#include "predict/words.hpp"
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/render/diagnosis.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace tool {

namespace {

// zb_h1 is zb-h1.
std::string catalog_name(std::string_view given) {
  std::string name = in_small_letters(given);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

}  // namespace

void choose_schedule(std::string const& name_or_file, prediction& p) {
  ashlar::predict::question& q = p.asked;
  p.schedule = name_or_file;
  std::string const name = catalog_name(name_or_file);
  bool const interleaves = name == "interleaved" || name == "depth-first";
  if (name.empty() || interleaves) return;  // of one chunk, it is 1F1B
  if (name == "1f1b") {
    if (q.chunks > 1)
      throw usage_error(fmt::format(
          "--schedule 1f1b has one stage a device, not --chunks {}; interleaved has more", q.chunks));
    return;
  }
  if (ashlar::catalog::entry const* const e = ashlar::catalog::find_any(name)) {
    q.published = e;
    return;
  }
  if (!is_path(name_or_file)) {
    std::vector<std::string> names{"interleaved"};
    for (ashlar::catalog::entry const* each : ashlar::catalog::all_entries)
      names.emplace_back(each->name);
    throw usage_error(fmt::format(
        "--schedule: no schedule '{}' is known{}; `ashlar list` names those of the catalog, or give the "
        "path of a file",
        name_or_file.substr(0, 64), did_you_mean(name, names)));
  }
  try {
    check(q);  // micro-batches are counted
    p.own_order = std::make_shared<ashlar::schedule const>(
        read_schedule(name_or_file, ashlar::predict::micro_batches(q), {}).schedule);
  } catch (ashlar::predict::unpredictable const& e) {
    throw usage_error(sentence_of(e, q));
  } catch (ashlar::violation const& v) {
    throw usage_error(fmt::format("'{}': {}", name_or_file, ashlar::explain(v.why)));
  }
  q.own_order = p.own_order.get();
}

}  // namespace tool
