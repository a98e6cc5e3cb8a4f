// The published blocks and schedules that need no search, one function each. entries.hpp has all of
// them by name.
#pragma once

#include <ashlar/catalog/accumulation.hpp>
#include <ashlar/catalog/bitpipe.hpp>
#include <ashlar/catalog/breadth_first.hpp>
#include <ashlar/catalog/chimera.hpp>
#include <ashlar/catalog/combined_1f1b.hpp>
#include <ashlar/catalog/depth_first.hpp>
#include <ashlar/catalog/dualpipe.hpp>
#include <ashlar/catalog/gems.hpp>
#include <ashlar/catalog/gpipe.hpp>
#include <ashlar/catalog/grouped_interleaved.hpp>
#include <ashlar/catalog/hanayo.hpp>
#include <ashlar/catalog/inference.hpp>
#include <ashlar/catalog/one_f_one_b.hpp>
#include <ashlar/catalog/seq1f1b.hpp>
#include <ashlar/catalog/stp.hpp>
#include <ashlar/catalog/v_family.hpp>
#include <ashlar/catalog/zb_h1.hpp>
#include <ashlar/catalog/zb_h2.hpp>
