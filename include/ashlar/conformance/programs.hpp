// Programs of all kinds, to test backends with.
#pragma once

#include <ashlar/program/program.hpp>

#include <string>
#include <vector>

namespace ashlar::conformance {

struct sample_program {
  std::string name;
  ashlar::program program;
};

// Makes every entry of the catalog in several sizes and with all kinds of transfer lanes, features that
// no entry has (replicas of a split backward, recomputation, stages that fork and join, parameters in
// common, work, sequences in more than two chunks), and random orders of chains and of other graphs.
std::vector<sample_program> sample_programs();

// Makes every entry of the catalog that trains, checkpoints and random orders, where values of some or
// all forwards go to the host; each on one rank, and on two that share everything. For backends that are
// an offloading_backend.
std::vector<sample_program> programs_that_offload();
std::vector<sample_program> programs_of_ranks_that_offload();

// Two data-parallel ranks: every entry of the catalog at every sharding level, with all times of
// reduction, one buffer and two, gathers near and far ahead, and optimizer steps; in every other program
// the first and the last stage have parameters in common, in some of them others, too; every
// fifth has work that keeps nothing from step to step.
std::vector<sample_program> programs_of_ranks();

}  // namespace ashlar::conformance

#ifndef ASHLAR_COMPILED
#include <ashlar/conformance/programs.ipp>
#endif
