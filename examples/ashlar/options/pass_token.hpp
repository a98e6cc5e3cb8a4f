// Passes as files and traces name them.
#pragma once

#include <ashlar/core/pass.hpp>

#include <optional>
#include <string_view>

namespace tool {

// 2F0; where `may_lack_number`, also 2F, of micro-batch 0.
std::optional<ashlar::pass> read_pass(std::string_view token, bool may_lack_number = false);

}  // namespace tool
