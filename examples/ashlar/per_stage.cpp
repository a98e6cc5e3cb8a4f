#include "per_stage.hpp"

#include "command.hpp"
#include "files.hpp"
#include "limits.hpp"
#include <ashlar/ticks.hpp>

#include <fmt/core.h>

#include <charconv>
#include <string_view>

namespace tool {

namespace {

std::string_view trimmed(std::string_view s) {
  auto const begin = s.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return s.substr(begin, s.find_last_not_of(" \t\r") - begin + 1);
}

// Three numbers of ticks; false if the line holds anything else.
bool parse(std::string_view line, ashlar::stage_cost& cost) {
  for (ashlar::tick* const part : {&cost.forward, &cost.backward_input, &cost.backward_weight}) {
    bool const last = part == &cost.backward_weight;
    auto const comma = line.find(',');
    if ((comma == std::string_view::npos) != last) return false;
    std::string_view const number = trimmed(line.substr(0, comma));
    auto const [end, error] = std::from_chars(number.data(), number.data() + number.size(), *part);
    if (error != std::errc{} || end != number.data() + number.size()) return false;
    if (*part < 1 || *part > ashlar::max_tick) return false;
    if (!last) line.remove_prefix(comma + 1);
  }
  return true;
}

}  // namespace

std::vector<ashlar::stage_cost> read_per_stage(std::string const& path) {
  std::string const text = read_text(path);
  std::vector<ashlar::stage_cost> costs;
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    auto const end = rest.find('\n');
    std::string_view const line = trimmed(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.empty() || line[0] == '#') continue;
    ashlar::stage_cost cost;
    if (!parse(line, cost))
      throw usage_error(
          fmt::format("'{}', line {}: a stage's costs are three numbers of ticks from 1 to {}, "
                      "`forward,backward_input,backward_weight`",
                      path, number, ashlar::max_tick));
    costs.push_back(cost);
    if (static_cast<long long>(costs.size()) > most_passes)
      throw usage_error(fmt::format("'{}' has more than {} stages", path, most_passes));
  }
  if (costs.empty()) throw usage_error(fmt::format("'{}' has no costs", path));
  return costs;
}

}  // namespace tool
