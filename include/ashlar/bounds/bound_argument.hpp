// Which short argument gives a bound.
#pragma once

#include <ashlar/core/pass.hpp>

namespace ashlar {

// The work of a device alone; its passes with heads and tails under limits on memory, if they may be
// interrupted; the same with heads and tails along paths alone; or activations times lifespans.
enum class argument_kind : unsigned char { work, one_machine, path, area };

// An argument about the passes of one device.
struct bound_argument {
  static constexpr int whole = -1;

  argument_kind by = argument_kind::work;
  int device = 0;
  int origin = whole;  // one_machine: the device from whose first start time counts, or `whole`
  pass from = {pass_kind::forward, whole, 0};  // path: from whose start; of the stage `whole`: from 0

  friend constexpr bool operator==(bound_argument const&, bound_argument const&) = default;
};

// The name of a kind of argument.
constexpr char const* name_of(argument_kind by) {
  switch (by) {
    case argument_kind::work:
      return "work";
    case argument_kind::one_machine:
      return "one machine";
    case argument_kind::path:
      return "path";
    case argument_kind::area:
      return "area";
  }
  return "";
}

}  // namespace ashlar
