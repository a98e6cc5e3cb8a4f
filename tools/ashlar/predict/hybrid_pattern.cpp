#include "predict/hybrid_pattern.hpp"

#include <cmath>

namespace tool {

namespace {

// Turns M into `letter` behind each run of `between` letters, which is a fraction: what is left over of
// one run counts for the next. `counts_all`: the runs have all letters, not those of M alone.
void put_letters(std::string& pattern, char letter, double between, bool counts_all) {
  double left = between;
  for (char& here : pattern) {
    if (!counts_all && here != 'M') continue;
    if (left < 0.5) {
      here = letter;
      left += between;
    } else {
      left -= 1;
    }
  }
}

}  // namespace

std::string pattern_of_shares(std::size_t layers, double attention, double feed_forward) {
  std::string pattern(layers, 'M');
  auto const all = static_cast<double>(layers);
  double const attending = std::nearbyint(all * attention), feeding = std::nearbyint(all * feed_forward);
  put_letters(pattern, '*', (all - attending) / (attending + 1), true);
  if (feeding > 0) put_letters(pattern, '-', (all - attending - feeding) / feeding, false);
  return pattern;
}

}  // namespace tool
