// Measures the cost of taking the chunks of a sequence for alike where causal attention makes later ones
// longer.
//
// Prints Markdown: by the share of a forward that is attention and the number of chunks in a sequence,
// the bubble (of the span, in percent) of seq1f1b, of the best order found for chunks alike, and of the
// best found for their true times; and the least that the bound leaves. 8 devices in a chain, 16
// sequences, the memory of 1F1B. Attention takes twice as long backward, all of it in the input pass.
//
// usage: bench_search_causal [passes of a search, 20000000] [seed, 1]
#include <ashlar/catalog/entries.hpp>
#include <ashlar/search/portfolio.hpp>
#include <ashlar/search/search.hpp>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  using namespace ashlar;
  search_budget const e{.passes = argc > 1 ? std::atoll(argv[1]) : 20'000'000,
                        .seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1,
                        .aim = objective::span};
  if (e.passes < 1) {
    std::fputs("usage: bench_search_causal [passes of a search] [seed]\n", stderr);
    return 2;
  }
  std::puts("| attention % | chunks | seq1f1b | found for chunks alike | found | no less than |");
  std::puts("|---:|---:|---:|---:|---:|---:|");
  for (int const percent : {10, 30, 50})
    for (int const q : {2, 4, 8}) {
      tick const attention = 20 * percent / 100, others = 20 - attention;
      costs const whole(stage_cost{20, others + 2 * attention, others}, 1);
      causal_share const share{percent, 200 * percent / (100 + percent)};
      layout_choice const plain =
          choose_layout({devices{8}, micro_batches{16}, whole}, placement_kind::linear, 1, 100);
      search_problem const alike = vary(plain, {}, q, {}).problem,
                           real = vary(plain, {}, q, {.causal = share}).problem;
      auto const bubble = [&](schedule const& s) {
        return 100 * bubble_rate_span(retime(s, real.cost));
      };
      search_result const found = search(real, e);
      tick const work = busiest_work(workload_of(found.best));
      std::printf(
          "| %d | %d | %.1f | %.1f | **%.1f** | %.1f |\n", percent, q,
          bubble(catalog::find("seq1f1b")->make(
              {.p = devices{8}, .m = micro_batches{16}, .sequence_chunks = q})),
          bubble(search(alike, e).best), bubble(found.best),
          100.0 * static_cast<double>(found.least.span - work) / static_cast<double>(found.least.span));
      std::fflush(stdout);
    }
  return 0;
}
