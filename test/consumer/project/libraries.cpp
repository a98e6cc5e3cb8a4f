#include <ashlar/cost.hpp>
#include <ashlar/plan.hpp>

#include <cstdio>

// A function of each library, of which the result is known.
int main() {
  ashlar::cost::architecture model{.hidden = 8, .vocabulary = 100};
  double const tables = ashlar::cost::parameters(model);  // embedding and head, 8 x 100 each
  auto const sizes = ashlar::best_partition(
      {.layer = {1, 1, 1, 3}, .volume = {0, 0, 0, 0}, .link = {0}, .repeats = 7}, 2);
  std::printf("%.0f parameters, %d and %d layers\n", tables, sizes[0], sizes[1]);
  return tables == 1600 && sizes[0] == 3 ? 0 : 1;
}
