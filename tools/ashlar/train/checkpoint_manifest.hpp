// The manifest of a checkpoint: JSON with a checksum. docs/formats.md describes it.
#pragma once

#include "train/checkpoint.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace tool {

inline constexpr int most_steps = 1'000'000'000;
inline constexpr std::uint64_t most_batches = std::uint64_t{1} << 62U;

nlohmann::json json_of(checkpoint_part const& part);
checkpoint_part part_from(nlohmann::json const& value);

std::string manifest_of(checkpoint const& c);

// Reads a manifest without its folder. Throws usage_error, naming the file and what is wrong with it.
checkpoint checkpoint_of_manifest(std::string const& text, std::string const& path);

}  // namespace tool
