#include "predict/megatron_flags.hpp"

#include "predict/embedded.hpp"
#include "predict/megatron_words.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

namespace tool {

namespace {

using flag_table = std::map<std::string, megatron_flag, std::less<>>;

std::size_t most_of(nlohmann::json const& words) {
  if (words.is_number()) return words.get<std::size_t>();
  return words == "?" ? 1 : std::numeric_limits<std::size_t>::max();
}

flag_table made_table() {
  flag_table all;
  nlohmann::json const table = nlohmann::json::parse(embedded_megatron_flags());
  for (nlohmann::json const& flag : table["flags"]) {
    std::string const name = with_underscores(flag["names"][0].get<std::string>());
    auto const choices = flag.value("choices", std::vector<std::string>{});
    for (nlohmann::json const& each : flag["names"])
      all[with_underscores(each.get<std::string>())] = {name, most_of(flag["words"]), choices};
  }
  return all;
}

}  // namespace

bool megatron_flag::takes(std::string const& word) const {
  return choices.empty() || std::find(choices.begin(), choices.end(), word) != choices.end();
}

megatron_flag const* find_megatron_flag(std::string_view name) {
  static flag_table const all = made_table();
  auto const at = all.find(name);
  return at == all.end() ? nullptr : &at->second;
}

bool is_foreign_spec(std::string_view spec) {
  spec.remove_prefix(std::min(spec.find_first_not_of("[('\" "), spec.size()));  // of a list
  return spec.find('.') != spec.npos && !spec.starts_with("megatron.core");
}

}  // namespace tool
