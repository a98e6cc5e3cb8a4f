#include "options/pass_token.hpp"

#include <ashlar/program/names.hpp>

#include <charconv>
#include <system_error>

namespace tool {

std::optional<ashlar::pass> read_pass(std::string_view token, bool may_lack_number) {
  ashlar::pass what{.stage = -1};
  char const* const last = token.data() + token.size();
  auto number = std::from_chars(token.data(), last, what.stage);
  if (number.ec != std::errc{} || what.stage < 0 || number.ptr == last) return std::nullopt;
  using enum ashlar::pass_kind;
  bool known = false;
  for (ashlar::pass_kind const kind : {forward, recompute, backward, backward_input, backward_weight})
    if (*number.ptr == ashlar::letter_of(kind)) {
      what.kind = kind;
      known = true;
    }
  if (!known) return std::nullopt;
  if (may_lack_number && number.ptr + 1 == last) return what;
  number = std::from_chars(number.ptr + 1, last, what.micro_batch);
  if (number.ec != std::errc{} || number.ptr != last || what.micro_batch < 0) return std::nullopt;
  return what;
}

}  // namespace tool
