// What the stages of a plan run on, if devices are of several kinds.
#pragma once

#include <ashlar/plan/training/device_kind.hpp>
#include <ashlar/plan/training/plan_question.hpp>
#include <ashlar/plan/training/step_model.hpp>

#include <vector>

namespace ashlar {

// Devices of a kind that the plan uses: of each of its kinds the same share.
int used_of(plan_question const& q, training_plan const& plan, int kind);

// The kinds of the data and tensor ranks that are one device of the pipelines. Devices are numbered as
// in device_grid, one kind after the other.
std::vector<int> kinds_of_device(plan_question const& q, training_plan const& plan, int device);

// What such a device is as fast as, and holds: its slowest member.
device_kind device_of_pipeline(plan_question const& q, training_plan const& plan, int device);

// Bytes a second between two devices of the pipelines, or of one's ranks to each other.
double link_between(plan_question const& q, training_plan const& plan, int a, int b);

// What each stage runs on.
std::vector<stage_site> sites_of(plan_question const& q, training_plan const& plan);

// What each device of the pipelines may hold.
std::vector<double> budgets_of(plan_question const& q, training_plan const& plan);

// Operations a second that a device of the plan can do, in the mean.
double mean_flops(plan_question const& q, training_plan const& plan);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/plan/training/plan_sites.ipp>
#endif
