// A schedule of one's own: what a V-shaped block costs and saves, depending on how fast it moves along
// the devices.
//
// Device i has stages i and 2p - 1 - i, so that a micro-batch goes down the devices and comes back. The
// four legs of its way (forward down and up, backward down and up) each take a fixed number of ticks per
// hop. Slow legs leave room for other micro-batches but keep activations alive for longer: this program
// tries all legs of one, two and four ticks, and all waits at the turns, and says what is the least
// memory for each bubble.
#include <ashlar/ashlar.hpp>
#include <ashlar/render/diagnosis.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

using namespace ashlar;

namespace {

constexpr int p = 8, m = 32;

struct way {
  int hop[4];   // ticks per hop: forward down, forward up, backward down, backward up
  int wait[3];  // ticks lost at each turn
};

block own_block(way const& w) {
  return make_block(v_shape(devices{p}), costs{}, 6, {pass_kind::forward, pass_kind::backward_input},
                    [&](pass_kind kind, int stage) -> tick {
                      bool const first = stage < p;
                      int const i = first ? stage : 2 * p - 1 - stage, last = p - 1;
                      int const turn_down = w.hop[0] * last + 1 + w.wait[0];
                      int const loss = turn_down + w.hop[1] * last + 1 + w.wait[1];
                      int const turn_up = loss + w.hop[2] * last + 1 + w.wait[2];
                      if (kind == pass_kind::forward)
                        return first ? w.hop[0] * i : turn_down + w.hop[1] * (last - i);
                      return first ? turn_up + w.hop[3] * (last - i) : loss + w.hop[2] * i;
                    });
}

struct found {
  way w;
  int peak;  // chunk activations of the device that holds most
  tick bubble;
};

void print_row(std::string const& name, int peak, tick bubble) {
  std::printf("%-26s memory %4.2f of 1F1B, bubble %2d ticks\n", name.c_str(), peak / (2.0 * p),
              static_cast<int>(bubble));
}

int most(std::vector<int> const& peaks) { return *std::max_element(peaks.begin(), peaks.end()); }

}  // namespace

int main() {
  // Shows what is wrong with the first idea, slowly away from the turns and fast towards them:
  block const hasty = weights_in_first_gaps(own_block({{2, 1, 2, 1}, {0, 0, 0}}));
  std::printf("without waits %s\n", explain(check(hasty), hasty).c_str());

  std::map<int, found> best;  // by memory
  int tried = 0, legal = 0;
  way w{};
  auto const look = [&] {
    ++tried;
    try {
      block const b = weights_in_first_gaps(own_block(w));
      if (!check(b).ok()) return;
      ++legal;
      schedule const s = b | repeat(micro_batches{m}) | squeeze();
      found const f{w, most(peak_activations(s)), makespan(s) - busy(s)[0]};
      auto const [at, is_new] = best.emplace(f.peak, f);
      if (!is_new && f.bubble < at->second.bubble) at->second = f;
    } catch (violation const&) {
      return;  // no gap left for a weight pass: some passes collide
    }
  };
  for (w.hop[0] = 1; w.hop[0] <= 4; w.hop[0] *= 2)
    for (w.hop[1] = 1; w.hop[1] <= 4; w.hop[1] *= 2)
      for (w.hop[2] = 1; w.hop[2] <= 4; w.hop[2] *= 2)
        for (w.hop[3] = 1; w.hop[3] <= 4; w.hop[3] *= 2)
          for (w.wait[0] = 0; w.wait[0] < 6; ++w.wait[0])
            for (w.wait[1] = 0; w.wait[1] < 6; ++w.wait[1])
              for (w.wait[2] = 0; w.wait[2] < 6; ++w.wait[2]) look();
  std::printf("%d blocks tried, %d without collisions; the best ones:\n", tried, legal);
  tick least = max_tick;
  for (auto const& [peak, f] : best) {
    if (f.bubble >= least) continue;  // another has less memory and no more bubble
    least = f.bubble;
    std::string name = "hops";
    for (int hop : f.w.hop) name += " " + std::to_string(hop);
    name += ", waits";
    for (int wait : f.w.wait) name += " " + std::to_string(wait);
    print_row(name, f.peak, f.bubble);
  }
  schedule const known = catalog::one_f_one_b(devices{p}) | repeat(micro_batches{m}) | squeeze();
  // A stage of 1F1B is two chunks.
  print_row("1f1b", 2 * most(peak_activations(known)), 2 * (makespan(known) - busy(known)[0]));
}
