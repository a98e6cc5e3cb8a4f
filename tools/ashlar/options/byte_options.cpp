#include "options/byte_options.hpp"

#include "command.hpp"
#include "options/limits.hpp"
#include "report/proved_gap.hpp"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <utility>

namespace tool {

namespace {

constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
constexpr std::string_view decimal_units[] = {"B", "KB", "MB", "GB", "TB"};

// Returns false if it is no number of a known unit.
bool parse_bytes(std::string_view text, double& bytes) {
  double value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty()) text = units[0];
  if (text == units[0]) {
    bytes = value;
    return value == std::floor(value);
  }
  double binary = 1, decimal = 1;
  for (std::size_t i = 1; i < std::size(units); ++i) {
    binary *= 1024;
    decimal *= 1000;
    bytes = value * (text == units[i] ? binary : decimal);
    if (text == units[i] || text == decimal_units[i]) return true;
  }
  return false;
}

}  // namespace

ashlar::byte_count read_bytes(std::string const& option, std::string const& text) {
  double bytes = 0;
  if (!parse_bytes(text, bytes) || !(bytes >= 0 && bytes <= static_cast<double>(most_memory)))
    throw usage_error(
        fmt::format("{} is a number of bytes from 0 to {}, like 512, 24GiB, 79.5GiB or 80GB, "
                    "not '{}'",
                    option, text_of_bytes(most_memory), text.substr(0, 64)));
  // Products of doubles, such as 79.7 GB, may miss a whole number by their last digit.
  auto const whole = std::llround(bytes);
  static bool is_said = false;
  if (std::abs(bytes - static_cast<double>(whole)) > bytes * 1e-15 && !std::exchange(is_said, true))
    fmt::print(stderr, "note: '{}' is {} bytes; parts of bytes are rounded\n", text, whole);
  return whole;
}

std::string text_of_bytes(ashlar::byte_count bytes) {
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", bytes, units[unit]);
}

std::string rounded_bytes(ashlar::byte_count bytes) {
  auto size = static_cast<double>(proved_bytes(bytes));
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(units); ++unit) size /= 1024;
  return fmt::format("{:.4g}{}", size, units[unit]);
}

CLI::Option* add_bytes(CLI::App& command, char const* flag, ashlar::byte_count& value,
                       std::string const& help) {
  return command
      .add_option_function<std::string>(
          flag, [&value, flag](std::string const& text) { value = read_bytes(flag, text); }, help)
      ->type_name("BYTES");
}

std::vector<CLI::Option*> add_stage_bytes(CLI::App& command, ashlar::stage_memory& b) {
  return {add_bytes(command, "--stash-bytes", b.stash,
                    "what a forward of a p-th of the model keeps for its backward"),
          add_bytes(command, "--weight-bytes", b.weights, "weights of a p-th of the model"),
          add_bytes(command, "--optimizer-bytes", b.optimizer_state,
                    "optimizer state of a p-th of the model"),
          add_bytes(command, "--gradient-bytes", b.weight_gradient,
                    "weight gradients of a p-th of the model")};
}

}  // namespace tool
