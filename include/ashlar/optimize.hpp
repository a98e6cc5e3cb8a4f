// Shared by the search and the searched catalog entries.
#pragma once

#include <ashlar/optimize/beam_search.hpp>
#include <ashlar/optimize/delay_block.hpp>
#include <ashlar/optimize/disjunctive_graph.hpp>
#include <ashlar/optimize/hill_climb.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/optimize/insertion_moves.hpp>
#include <ashlar/optimize/iterated_local_search.hpp>
#include <ashlar/optimize/justification.hpp>
#include <ashlar/optimize/list_scheduler.hpp>
#include <ashlar/optimize/modulo_block.hpp>
#include <ashlar/optimize/modulo_search.hpp>
#include <ashlar/optimize/periodic_extension.hpp>
#include <ashlar/optimize/precedence_graph.hpp>
#include <ashlar/optimize/start_behind.hpp>
#include <ashlar/optimize/start_order.hpp>
#include <ashlar/optimize/surrogate.hpp>
#include <ashlar/optimize/tabu_search.hpp>
#include <ashlar/schedule.hpp>
