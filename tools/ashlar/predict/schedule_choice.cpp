#include "predict/schedule_choice.hpp"

#include "command.hpp"
#include "files/schedule_files.hpp"
#include "options/suggest.hpp"
#include "predict/names.hpp"
#include "predict/words.hpp"
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/render/diagnosis.hpp>

#include <fmt/core.h>

#include <string>
#include <string_view>

namespace tool {

void choose_schedule(std::string const& name_or_file, prediction& p) {
  ashlar::cost::question& q = p.asked;
  p.schedule = name_or_file;
  if (name_or_file.empty()) return;
  if (ashlar::catalog::entry const* const e = ashlar::catalog::find_any(name_or_file)) {
    std::string_view const name = e->name;
    if (name == "1f1b" && q.layout.chunks > 1)
      throw usage_error(
          fmt::format("--schedule 1f1b has one stage a device, not --chunks {}; interleaved has more",
                      q.layout.chunks));
    if (name != "1f1b" && name != "depth-first") q.layout.order = e;  // of these two there are formulas
    return;
  }
  if (!is_path(name_or_file)) {
    std::string const near = nearest_name(name_or_file);
    throw usage_error(fmt::format(
        "--schedule: no schedule '{}' is known{}; `ashlar list` names those of the catalog, or give the "
        "path of a file",
        name_or_file.substr(0, 64), near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }
  try {
    check(q);  // micro-batches are counted
    q.layout.order = read_schedule(name_or_file, q.micro_batches(), {}).schedule;
  } catch (ashlar::cost::unpredictable const& e) {
    throw usage_error(sentence_of(e, q));
  } catch (ashlar::violation const& v) {
    throw usage_error(fmt::format("'{}': {}", name_or_file, ashlar::explain(v.why)));
  }
}

}  // namespace tool
