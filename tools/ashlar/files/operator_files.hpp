// Models as graphs of operators, in files; docs/formats.md describes them.
#pragma once

#include <ashlar/plan/graphs/operators.hpp>

#include <string>
#include <vector>

namespace tool {

struct named_operators {
  ashlar::operator_model model;
  std::vector<std::string> names;  // of its operators
};

// Throws usage_error, with line and column, for a file that is none, and violation for edges that are no
// graph.
named_operators read_operators(std::string const& path);

}  // namespace tool
