// expect: the worker's overlapped\(\) does not take \(queue&, frame const&, frame const&\)
// A worker that can overlap, but takes what the engine does not give.
#include <ashlar/run/contract.hpp>

using namespace ashlar;

struct overlapping {
  value_layout layout(value_key) const { return {}; }
  void forward(int&, frame const&) {}
#ifdef OK
  void overlapped(int&, frame const&, frame const&) {}
#else
  void overlapped(frame&, frame&) {}
#endif
};

int main() { require_well_declared<overlapping, int>(); }
