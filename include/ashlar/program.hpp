// Programs: instruction streams over slots, and their waits.
#pragma once

#include <ashlar/program/event_table.hpp>
#include <ashlar/program/hash.hpp>
#include <ashlar/program/hazards.hpp>
#include <ashlar/program/instruction.hpp>
#include <ashlar/program/issue_order.hpp>
#include <ashlar/program/lane_machine.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/program/slot_layout.hpp>
#include <ashlar/program/slot_sizes.hpp>
