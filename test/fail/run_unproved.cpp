// expect: no viable conversion|could not convert
// The view of a program does not say that it is proved, so it cannot be run.
#include <ashlar/catalog/published.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/program_source.hpp>

using namespace ashlar;

inline program_source given() {
  program const p = catalog::one_f_one_b(devices{2}) | repeat(micro_batches{2}) | squeeze() | lower();
#ifdef OK
  return p;
#else
  return p.view();
#endif
}
