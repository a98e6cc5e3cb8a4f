// The table of `ashlar compare`.
#pragma once

#include <ashlar/study/compare.hpp>

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace tool {

// A row of the table. A schedule that does not exist for this size has the reason in place of its
// numbers.
struct compared_row {
  std::string name, source;
  ashlar::comparison numbers = {};
  std::optional<ashlar::compared_bound> least = {};
  std::string refused = {};
  std::string remark = {};
};

// The rows, with times in this unit, or in ticks where it is empty.
std::string text_of(std::vector<compared_row> const& rows, std::string const& unit);
nlohmann::json json_of(std::vector<compared_row> const& rows, std::string const& unit);
std::string csv_of(std::vector<compared_row> const& rows);

}  // namespace tool
