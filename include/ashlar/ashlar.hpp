// All of Ashlar that needs the standard library only; not the views, the JSON interchange and the
// backends.
#pragma once

#include <ashlar/block.hpp>
#include <ashlar/block_algebra.hpp>
#include <ashlar/bounds.hpp>
#include <ashlar/catalog.hpp>
#include <ashlar/check.hpp>
#include <ashlar/compose.hpp>
#include <ashlar/freeze.hpp>
#include <ashlar/interop/pytorch_comms.hpp>
#include <ashlar/interop/pytorch_csv.hpp>
#include <ashlar/lower.hpp>
#include <ashlar/metrics.hpp>
#include <ashlar/placement.hpp>
#include <ashlar/render/chrome_trace.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/render/html.hpp>
#include <ashlar/render/svg.hpp>
#include <ashlar/render/text.hpp>
#include <ashlar/reorder.hpp>
#include <ashlar/repeat.hpp>
#include <ashlar/run.hpp>
#include <ashlar/simulate.hpp>
#include <ashlar/speeds.hpp>
#include <ashlar/squeeze.hpp>
#include <ashlar/valid.hpp>
