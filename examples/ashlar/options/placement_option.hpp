// A placement of one's own, as an option has it.
#pragma once

#include <ashlar/model/placement.hpp>

#include <string>

namespace tool {

// Whether a text is a list of devices, not a word.
bool lists_devices(std::string const& text);

// The device of each stage: 0,1,2,3,3,2,1,0. Of several routes one after the other: 0,1,2,3/3,2,1,0.
// There are as many devices as the largest number says. Throws usage_error for what is no such list,
// devices without a stage and routes of different lengths.
ashlar::placement read_placement(std::string const& option, std::string const& text);

}  // namespace tool
