// The search for schedules of given costs and memory.
#pragma once

#include <ashlar/bounds.hpp>
#include <ashlar/lower.hpp>
#include <ashlar/search/active_schedules.hpp>
#include <ashlar/search/braid.hpp>
#include <ashlar/search/cut_requests.hpp>
#include <ashlar/search/graph_seeds.hpp>
#include <ashlar/search/host_ladder.hpp>
#include <ashlar/search/in_order.hpp>
#include <ashlar/search/layout_freedoms.hpp>
#include <ashlar/search/layouts.hpp>
#include <ashlar/search/micro_batch_order.hpp>
#include <ashlar/search/offload.hpp>
#include <ashlar/search/offload_search.hpp>
#include <ashlar/search/ordered_micro_batches.hpp>
#include <ashlar/search/paged_order.hpp>
#include <ashlar/search/portfolio.hpp>
#include <ashlar/search/problem.hpp>
#include <ashlar/search/request_search.hpp>
#include <ashlar/search/residency.hpp>
#include <ashlar/search/search.hpp>
#include <ashlar/search/seeds.hpp>
#include <ashlar/search/successive_halving.hpp>
#include <ashlar/simulate.hpp>
