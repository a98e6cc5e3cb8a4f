// Names regardless of case, and what someone may have meant.
#pragma once

#include <ashlar/interop/near_names.hpp>

namespace tool {

using ashlar::did_you_mean;
using ashlar::in_small_letters;
using ashlar::nearest_of;

}  // namespace tool
