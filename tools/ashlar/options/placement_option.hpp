// Your own placement, as an option has it.
#pragma once

#include <ashlar/model/placement.hpp>

#include <string>

namespace tool {

// Whether a text is a list of devices, not a word.
bool lists_devices(std::string const& text);

// Reads the device of each stage: 0,1,2,3,3,2,1,0. Several routes follow one after the other:
// 0,1,2,3/3,2,1,0. There are as many devices as the largest number says. Throws usage_error if it is no
// such list, for devices without a stage and for routes of different lengths.
ashlar::placement read_placement(std::string const& option, std::string const& text);

}  // namespace tool
