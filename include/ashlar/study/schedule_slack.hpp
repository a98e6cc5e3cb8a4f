// How late the transfers of a link may be before the makespan of a schedule grows.
#pragma once

#include <ashlar/core/link_slack.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <vector>

namespace ashlar {

// The slack of every link that a transfer takes, by sender and receiver. Orders stay as they are, every
// transfer takes its own time and none is in another's way, so a link with many messages under way at
// once may be later than link_slacks(program) says for lanes that carry one at a time. A delay of one
// tick more than its slack makes the makespan longer, if all other links are as they are. Squeezes the
// schedule first: passes start as early as their order allows. Throws violation as squeeze() does.
//
// With a delay of x the makespan is the longest of paths that take length + count * x, for as many
// transfers of the link as each has. So Newton's method from above finds the slack in a few longest
// paths: O(links * passes) times their number, which is at most that of different counts.
std::vector<link_slack> link_slacks(schedule s);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/study/schedule_slack.ipp>
#endif
