// Names of passes in files and traces.
#pragma once

#include <ashlar/core/pass.hpp>

#include <optional>
#include <string_view>

namespace ashlar {

// Reads 2F0; with `may_lack_number`, also 2F for micro-batch 0.
std::optional<pass> read_pass(std::string_view token, bool may_lack_number = false);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/pass_token.ipp>
#endif
