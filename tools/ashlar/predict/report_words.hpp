// Words and figures that the text and the JSON of a prediction share.
#pragma once

#include "predict/report.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace tool {

// Parts of a device's memory, by name.
inline constexpr std::array memory_names{
    std::pair{"parameters", &ashlar::cost::memory_parts::parameters},
    std::pair{"gradients", &ashlar::cost::memory_parts::gradients},
    std::pair{"optimizer", &ashlar::cost::memory_parts::optimizer},
    std::pair{"activations", &ashlar::cost::memory_parts::activations},
    std::pair{"logits", &ashlar::cost::memory_parts::logits},
    std::pair{"gathered", &ashlar::cost::memory_parts::gathered},
    std::pair{"framework", &ashlar::cost::memory_parts::framework},
};

// "8.030 billion".
std::string count_words(double n);

// The reason why nothing shows how far off the step is.
std::string gap_words(prediction const& p);

// The spreads of errors on runs of this kind: of steps, and of peaks.
ashlar::cost::spread const& steps_around(prediction const& p);
ashlar::cost::spread const& peaks_around(prediction const& p);

// The properties that no published run has.
std::vector<std::string> beyond_words(prediction const& p);

}  // namespace tool
