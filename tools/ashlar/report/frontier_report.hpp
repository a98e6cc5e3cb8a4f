// The report of `ashlar frontier`, in words and pictures.
#pragma once

#include <ashlar/render/palette.hpp>

#include <optional>
#include <string>
#include <vector>

namespace tool {

// One line of the table: a limit and what was found within it, or a published schedule. A limit that
// leaves no schedule says how much it takes instead.
struct frontier_row {
  std::string schedule;
  double activations = 0;  // the limit, or the peak
  double memory = 0;
  double overhead = 0;
  std::optional<double> least = {};   // that any schedule has within that many activations
  std::optional<double> needed = {};  // activations, where no schedule has fewer
};

struct frontier_part {
  std::string name;
  std::vector<frontier_row> searched, published;
};

std::string text_of(std::vector<frontier_part> const& parts);
std::string csv_of(std::vector<frontier_part> const& parts);
std::string json_of(std::vector<frontier_part> const& parts);
std::string chart_of(std::vector<frontier_part> const& parts, std::string const& title,
                     ashlar::picture_theme theme);

}  // namespace tool
