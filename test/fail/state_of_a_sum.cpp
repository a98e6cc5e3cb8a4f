// expect: all_reduce_job.* has no .*state|state. does not refer to any field
// A sum keeps no state: only a job that computes can.
#include <ashlar/ashlar.hpp>

using namespace ashlar;

#ifdef OK
using with_state = compute_job;
#else
using with_state = all_reduce_job;
#endif

constexpr job_action keeps_a_sum = with_state{.state = own_state{}};
