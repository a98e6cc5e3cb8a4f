// Calls public functions with hostile values. Without arguments, lists them with the number of each, and
// whether it can be called; with NUMBER and CASES, calls one of them that often, or for 5 s, and ends
// with 3 if it takes none of the values.
#include "every/values.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc == 3) {
    auto const call = every::all[std::atoi(argv[1])].call;
    bool is_called = false;
    auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    for (int seed = 0; seed < std::atoi(argv[2]) && std::chrono::steady_clock::now() < until; ++seed) {
      every::dice d(static_cast<std::uint64_t>(seed));
      is_called = call(d) || is_called;
    }
    return is_called ? 0 : 3;
  }
  for (int i = 0; i < every::count; ++i)
    std::printf("%d %d %s\n", i, every::all[i].is_called != nullptr && *every::all[i].is_called ? 1 : 0,
                every::all[i].place);
}
