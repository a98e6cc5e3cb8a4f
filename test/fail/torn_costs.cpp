// expect: has_wrong_size.*table::sequence_chunk_costs_of_stages
// A table of costs with a row for which entries are missing cannot be made.
#include <ashlar/ashlar.hpp>

using namespace ashlar;

#ifdef OK
constexpr int count = 4;
#else
constexpr int count = 3;
#endif

static_assert(pass_costs::by_stage_and_sequence_chunk(std::vector<stage_cost>(count, stage_cost{}), 2)
                  .sequence_chunks()
              == 2);
