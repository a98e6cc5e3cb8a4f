// Definitions of pass_token.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/pass_token.hpp>
#include <ashlar/program/names.hpp>

#include <charconv>
#include <system_error>

namespace ashlar {

ASHLAR_INLINE std::optional<pass> read_pass(std::string_view token, bool may_lack_number) {
  pass what{.stage = -1};
  char const* const last = token.data() + token.size();
  auto number = std::from_chars(token.data(), last, what.stage);
  if (number.ec != std::errc{} || what.stage < 0 || number.ptr == last) return std::nullopt;
  using enum pass_kind;
  bool known = false;
  for (pass_kind const kind : {forward, recompute, backward, backward_input, backward_weight})
    if (*number.ptr == letter_of(kind)) {
      what.kind = kind;
      known = true;
    }
  if (!known) return std::nullopt;
  if (may_lack_number && number.ptr + 1 == last) return what;
  number = std::from_chars(number.ptr + 1, last, what.micro_batch);
  if (number.ec != std::errc{} || number.ptr != last || what.micro_batch < 0) return std::nullopt;
  return what;
}

}  // namespace ashlar
