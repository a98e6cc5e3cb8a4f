// Measures whether the catalog's searched schedules are as short as those of public schedulers, and how
// long they take.
//
// Prints Markdown: for each recorded case, the span and the processor time of the catalog's schedule of
// that name and the span recorded; then how many are longer, and the longest time.
//
// usage: bench_search_published test/data/gold/v_and_zb_large.json
#include "../processor_time.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <string>

using namespace ashlar;

int main(int argc, char** argv) {
  std::ifstream file(argc == 2 ? argv[1] : "");
  if (!file) {
    std::fputs("usage: bench_search_published FILE, such as test/data/gold/v_and_zb_large.json\n",
               stderr);
    return 2;
  }
  std::puts("| schedule | p | m | costs | span | recorded | s |\n|---|---:|---:|---|---:|---:|---:|");
  int longer = 0;
  double most = 0;
  for (nlohmann::json const& row : nlohmann::json::parse(file)) {
    auto const c = row["cost"].get<std::array<tick, 4>>();
    std::string const name = row["schedule"];
    int const p = row["p"], m = row["m"];
    tick const recorded = row["span"];
    schedule s;
    double const seconds = bench::processor_seconds([&] {
      s = catalog::find_any(name)->make(
          {.p = devices{p}, .m = micro_batches{m}, .cost = costs(stage_cost{c[0], c[1], c[2]}, c[3])});
    });
    most = std::max(most, seconds);
    longer += span(s) > recorded ? 1 : 0;
    std::printf("| `%s` | %d | %d | %lld, %lld, %lld; %lld | %lld | %lld | %.2f |\n", name.c_str(), p, m,
                static_cast<long long>(c[0]), static_cast<long long>(c[1]), static_cast<long long>(c[2]),
                static_cast<long long>(c[3]), static_cast<long long>(span(s)),
                static_cast<long long>(recorded), seconds);
    std::fflush(stdout);
  }
  std::printf("\n%d are longer; none took more than %.2f s.\n", longer, most);
  return longer > 0 ? 1 : 0;
}
