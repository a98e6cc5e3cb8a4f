// The vocabulary: counts and ids, passes, time and costs, diagnoses.
#pragma once

#include <ashlar/core/cost.hpp>
#include <ashlar/core/cost_sizes.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/either.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/link_slack.hpp>
#include <ashlar/core/list_view.hpp>
#include <ashlar/core/literal_optional.hpp>
#include <ashlar/core/machine.hpp>
#include <ashlar/core/opcode.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/core/pass_costs.hpp>
#include <ashlar/core/pipe.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sequence_costs.hpp>
#include <ashlar/core/table.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/core/version.hpp>
