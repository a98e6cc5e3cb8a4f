// Requests of different lengths go through a pipeline forward only, as in prefill or scoring: which goes
// first, and into how many chunks is a long one cut?
//
// Ticks are 10 microseconds. Three long requests are there at the start; short ones come later and would
// wait behind them. A chunk can let others pass, and lets the next device begin sooner.
#include <ashlar/ashlar.hpp>
#include <ashlar/catalog/inference.hpp>
#include <ashlar/catalog/zb_h1.hpp>
#include <ashlar/optimize/start_behind.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/search/cut_requests.hpp>
#include <ashlar/search/request_search.hpp>

#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

using namespace ashlar;

namespace {

constexpr int tokens_of_long = 32768, tokens_of_short = 1024, granule = 256;

// The time of a stage for a request: a tick for each 64 tokens, and attention to all before.
causal_request time_of(int tokens) {
  tick const others = tokens / 64, attention = tick{tokens} * tokens / 4'000'000;
  return {tokens, others + attention, static_cast<int>(100 * attention / (others + attention))};
}

// Three long requests in as many chunks, and five short ones.
request_problem requests_on(placement const& where, int chunks) {
  request_problem problem{where, {}, {}};
  std::vector<tick> forwards;
  auto const add = [&](int tokens, int pieces, tick arrival) {
    causal_request const whole = time_of(tokens);
    std::vector<int> const ends = cut_into_chunks(tokens, pieces, granule, whole);
    int first = 0;
    for (int const end : ends) {
      forwards.push_back(whole(first, end));
      first = end;
    }
    problem.asked.push_back({static_cast<int>(ends.size()), arrival});
  };
  for (int i = 0; i < 3; ++i) add(tokens_of_long, chunks, 0);
  for (int i = 0; i < 5; ++i) add(tokens_of_short, 1, 200 * i);
  // Where a device has two stages, each takes half of the time.
  tick const parts = where.stage_count() / where.device_count();
  std::vector<stage_cost> each;
  for (tick const forward : forwards) each.push_back({.forward = forward / parts});
  problem.cost.passes = pass_costs::by_stage_and_micro_batch(each, static_cast<int>(forwards.size()));
  return problem;
}

double milliseconds(tick t) { return static_cast<double>(t) / 100; }

}  // namespace

int main() {
  std::printf("a long request in four chunks of equal time ends after tokens");
  for (int const end : cut_into_chunks(tokens_of_long, 4, granule, time_of(tokens_of_long)))
    std::printf(" %d", end);
  std::puts("\n\nplacement  chunks  mean latency, ms  no less than  last end, ms  no less than");
  for (auto const& [name, where] :
       {std::pair{"linear", linear(devices{4})}, std::pair{"v", v_shape(devices{4})}})
    for (int const chunks : {1, 4, 16}) {
      request_problem const problem = requests_on(where, chunks);
      auto const count = static_cast<tick>(problem.asked.size());
      request_schedule const mean = search_requests(problem, {.evaluations = 3'000});
      request_schedule const last =
          search_requests(problem, {.evaluations = 3'000, .aim = request_objective::makespan});
      if (!check(mean.best).ok() || !check(last.best).ok()) std::puts("which is wrong");
      std::printf("%-9s %7d %17.2f %13.2f %13.2f %13.2f\n", name, chunks,
                  milliseconds(mean.reached / count), milliseconds(mean.least.mean / count),
                  milliseconds(last.reached), milliseconds(last.least.makespan));
    }

  // Log-probabilities of 8 micro-batches, then a training step of the same: no device waits for another
  // to end.
  costs const each(stage_cost{20, 26, 14});
  schedule const scores = retime(catalog::inference(devices{4}) | repeat(micro_batches{8}), each);
  schedule const step = retime(catalog::zb_h1(devices{4}) | repeat(micro_batches{8}), each);
  std::printf("\nscores and a training step: with a barrier %.2f ms, one behind the other %.2f ms\n",
              milliseconds(makespan(scores) + makespan(step)),
              milliseconds(makespan(start_behind(step, scores))));
}
