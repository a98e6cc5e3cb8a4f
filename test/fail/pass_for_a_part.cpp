// expect: part_id
// A pass of the pipeline, whose numbers are a stage and a micro-batch, is no part of a job.
#include <ashlar/ashlar.hpp>

using namespace ashlar;

#ifdef OK
using part_of_job = part_id;
#else
using part_of_job = pass;
#endif

constexpr tick time_of(work_view const& work, part_of_job const& asked) { return work.duration(asked); }
static_assert(time_of({}, part_id{0, 0}) == 0);
