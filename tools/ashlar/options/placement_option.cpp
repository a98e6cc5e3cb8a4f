#include "options/placement_option.hpp"

#include "command.hpp"
#include "options/limits.hpp"
#include "options/number_option.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace tool {

bool lists_devices(std::string const& text) {
  return !text.empty() && text.find_first_not_of("0123456789,/") == std::string::npos;
}

ashlar::placement read_placement(std::string const& option, std::string const& text) {
  std::vector<std::vector<int>> routes;
  int most = 0;
  for (std::string_view rest = text;; rest.remove_prefix(rest.find('/') + 1)) {
    routes.push_back(read_list(option, rest.substr(0, rest.find('/')), [&](std::string_view device) {
      return number_within<int>(option + ": a device", device, 0, most_devices - 1);
    }));
    if (routes.back().size() != routes[0].size())
      throw usage_error(fmt::format("{} has routes of {} and {} stages", option, routes[0].size(),
                                    routes.back().size()));
    for (int const device : routes.back()) most = std::max(most, device);
    if (rest.find('/') == std::string_view::npos) break;
  }
  for (int device = 0; device <= most; ++device)
    if (std::none_of(routes.begin(), routes.end(), [device](std::vector<int> const& route) {
          return std::find(route.begin(), route.end(), device) != route.end();
        }))
      throw usage_error(
          fmt::format("{} names device {}, but no stage is on device {}", option, most, device));
  return {ashlar::devices{most + 1}, routes};
}

}  // namespace tool
