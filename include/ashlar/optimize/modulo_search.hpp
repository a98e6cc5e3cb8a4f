// Searches modulo blocks, for a search of schedules to begin with.
#pragma once

#include <ashlar/optimize/justification.hpp>
#include <ashlar/optimize/modulo_block.hpp>

#include <cstdint>

namespace ashlar {

namespace modulo_search_detail {

// Makes other turns: two change places, or one goes elsewhere, or all begin at another time.
modulo_block::turns neighbour(justifier& search, modulo_block::turns t, tick period);

}  // namespace modulo_search_detail

// Runs threshold accepting (Dueck and Scheuer, 1990) from any turns: slightly worse ones are accepted,
// too, with a tolerance that shrinks. Returns the cost that is left. O(passes of the block) for each
// trial.
tick anneal(justifier& search, modulo_block& block, std::int64_t trials);

// Spends up to `passes` of the budget: anneals a few modulo blocks of the least period and justifies the
// schedule that the best of them repeats. It ends where the first ones are far from keeping to the
// memory. For schedules with has_delay_blocks().
void improve_modulo_blocks(justifier& search, memory_limit const& limit, std::int64_t passes);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/optimize/modulo_search.ipp>
#endif
