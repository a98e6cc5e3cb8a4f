// expect: breaks<[^']*no_pass_is_doubled[^']*device_<1>[^']*work[^']*stage_<0>, ashlar::micro_batch_<1>
// A program that does part 1 of job 0 twice.
#include "../mutate.hpp"
#include "../shapes.hpp"
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>

using namespace ashlar;

constexpr program made() {
  program p = shapes::with_work(shapes::one_f_one_b(2, 2)) | lower();
#ifndef OK
  int const at = mutate::find(p, 1, opcode::compute, {pass_kind::work, 0, 1});
  mutate::insert(p, 1, at, mutate::at(p, 1, at));
#endif
  return p;
}

static_assert(valid<made>());
