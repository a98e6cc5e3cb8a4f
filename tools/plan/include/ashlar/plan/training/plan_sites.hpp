// The devices and links of a plan's stages, if devices are of several kinds.
#pragma once

#include <ashlar/plan/training/device_kind.hpp>
#include <ashlar/plan/training/plan_question.hpp>
#include <ashlar/plan/training/step_model.hpp>

#include <vector>

namespace ashlar {

// The number of devices of a kind that the plan uses: the same share of each of its kinds.
int used_of(plan_question const& q, training_plan const& plan, int kind);

// The kinds of the data and tensor ranks that form one device of the pipelines. Devices are numbered as
// in device_grid, one kind after the other.
std::vector<int> kinds_of_device(plan_question const& q, training_plan const& plan, int device);

// The speed and memory of such a device: those of its slowest member.
device_kind device_of_pipeline(plan_question const& q, training_plan const& plan, int device);

// Bytes per second between two devices of the pipelines, or between the ranks of one.
double link_between(plan_question const& q, training_plan const& plan, int a, int b);

// The device and links of each stage.
std::vector<stage_site> sites_of(plan_question const& q, training_plan const& plan);

// The memory that each device of the pipelines may use.
std::vector<double> budgets_of(plan_question const& q, training_plan const& plan);

// Mean operations per second of a device of the plan.
double mean_flops(plan_question const& q, training_plan const& plan);

}  // namespace ashlar
