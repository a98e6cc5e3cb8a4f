// Lines that the tool has to refuse, and how.
#pragma once

#include "tool/run_tool.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

struct refused_line {
  std::string arguments, message;
};

// Each ends at once, with this exit code and what its message must contain.
inline void all_refused(std::vector<refused_line> const& lines, int code = 2) {
  for (refused_line const& line : lines) {
    CAPTURE(line.arguments);
    tool_result const r = run_tool(line.arguments, 5);
    CHECK(r.code == code);
    CHECK(r.out.empty());
    CAPTURE(r.err);
    CHECK(contains(r.err, line.message));
  }
}
