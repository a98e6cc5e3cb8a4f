// The algebra, the catalog, the proofs, the simulator and the text and SVG pictures.  What is heavy or
// needed by few has an include of its own: search.hpp, render.hpp (all pictures), interop.hpp,
// views.hpp.
#pragma once

#include <ashlar/block.hpp>
#include <ashlar/bounds.hpp>
#include <ashlar/catalog.hpp>
#include <ashlar/check.hpp>
#include <ashlar/lower.hpp>
#include <ashlar/model.hpp>
#include <ashlar/program.hpp>
#include <ashlar/prove.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/render/svg.hpp>
#include <ashlar/render/text.hpp>
#include <ashlar/run.hpp>
#include <ashlar/schedule.hpp>
#include <ashlar/simulate.hpp>
#include <ashlar/study.hpp>
