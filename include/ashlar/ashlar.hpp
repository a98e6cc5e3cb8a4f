// The way from a building block to a proved program: the algebra, the published blocks, lowering, the
// proofs. Everything else has an include of its own. For terminals: render/text.hpp (pictures),
// render/diagnosis.hpp (diagnoses as sentences), program/names.hpp (instructions by name). Others:
// catalog.hpp (every published schedule by name), bounds.hpp, simulate.hpp, study.hpp, search.hpp,
// run.hpp, render.hpp (all pictures), interop.hpp, views.hpp, and the parts of model/ and program/ that
// serve these.
#pragma once

#include <ashlar/block/algebra.hpp>
#include <ashlar/block/measures.hpp>
#include <ashlar/catalog/published.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/freeze.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/fold.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>
