// From a building block to a proved program and its picture in a terminal: the algebra, the catalog,
// lowering, the proofs. All else has an include of its own: bounds.hpp, simulate.hpp, study.hpp,
// search.hpp, run.hpp, render.hpp (all pictures), interop.hpp, views.hpp.
#pragma once

#include <ashlar/block.hpp>
#include <ashlar/catalog.hpp>
#include <ashlar/check.hpp>
#include <ashlar/lower.hpp>
#include <ashlar/model.hpp>
#include <ashlar/program.hpp>
#include <ashlar/prove.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/render/text.hpp>
#include <ashlar/schedule.hpp>
