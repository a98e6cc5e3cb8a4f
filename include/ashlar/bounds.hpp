// Lower bounds on the times of schedules.
#pragma once

#include <ashlar/bounds/argument.hpp>
#include <ashlar/bounds/closed_forms.hpp>
#include <ashlar/bounds/earliest_starts.hpp>
#include <ashlar/bounds/flow.hpp>
#include <ashlar/bounds/graph_bound.hpp>
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/bounds/one_machine.hpp>
#include <ashlar/bounds/request_bound.hpp>
#include <ashlar/bounds/workload.hpp>
