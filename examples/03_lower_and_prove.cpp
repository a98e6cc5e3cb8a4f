// From a schedule to instruction streams: proofs about them, and the messages about broken ones.
#include <ashlar/ashlar.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/prove/wait_cycle.hpp>
#include <ashlar/render/diagnosis.hpp>

#include <cstdio>
#include <utility>

using namespace ashlar;

namespace {

// 1F1B of two devices and two micro-batches.
constexpr program make() {
  return catalog::one_f_one_b(devices{2}) | repeat(micro_batches{2}) | squeeze() | lower();
}
static_assert(valid<make>());  // complete, ordered, free of deadlocks, memory-safe

constexpr int find(program const& p, int device, opcode code, pass what) {
  for (int i = stream_begin(p, device);; ++i)
    if (p.instructions[static_cast<std::size_t>(i)].code == code
        && p.instructions[static_cast<std::size_t>(i)].what == what)
      return i;
}

// The program with two of a device's instructions in each other's place.
program swapped(int device, opcode a, pass first, opcode b, pass second) {
  program p = make();
  std::swap(p.instructions[static_cast<std::size_t>(find(p, device, a, first))],
            p.instructions[static_cast<std::size_t>(find(p, device, b, second))]);
  return p;
}

void judge(char const* what, program const& p) {
  std::printf("\n%s\n  %s\n", what, explain(check(p), p).c_str());
  for (site const& s : find_wait_cycle(p)) {
    instruction const& i = p.view().stream(s.device)[static_cast<std::size_t>(s.index)];
    std::printf("  in a cycle: device %d, %s\n", s.device, to_string(i).c_str());
  }
}

}  // namespace

int main() {
  program const p = make();
  for (int device = 0; device < p.device_count(); ++device) {
    std::printf("device %d, %zu slots:\n", device, p.view().slots_of(device).size());
    for (instruction const& i : p.view().stream(device)) std::printf("  %s\n", to_string(i).c_str());
  }
  judge("as it is", p);

  pass const f0{pass_kind::forward, 0, 0}, f1{pass_kind::forward, 0, 1}, b0{pass_kind::backward, 1, 0};
  judge("device 1 receives in another order than device 0 sends",
        swapped(1, opcode::receive, f0, opcode::receive, f1));
  judge("device 0 waits for a gradient before it sends what it depends on",
        swapped(0, opcode::send, f1, opcode::receive, b0));

  program forgetful = make();
  int const lost = find(forgetful, 1, opcode::receive, f1);
  forgetful.instructions.erase(forgetful.instructions.begin() + lost);
  --forgetful.stream_begin.back();
  judge("a receive is missing", forgetful);
}
