// expect: no match.*compute_job|no known conversion.*all_reduce_job
// Who asks what a job does has an answer for each kind of job.
#include <ashlar/ashlar.hpp>

using namespace ashlar;

constexpr bool sums_all(job_action const& does) {
#ifdef OK
  return does.visit([](compute_job const&) { return false; }, [](all_reduce_job) { return true; });
#else
  return does.visit([](compute_job const&) { return false; });
#endif
}
static_assert(!sums_all(compute_job{}));
