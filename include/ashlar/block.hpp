// Building blocks: one micro-batch's passes at their offsets, and the algebra on them.
#pragma once

#include <ashlar/block/algebra.hpp>
#include <ashlar/block/block.hpp>
#include <ashlar/block/check.hpp>
#include <ashlar/block/measures.hpp>
#include <ashlar/block/modulo_order.hpp>
#include <ashlar/block/without_collisions.hpp>
#include <ashlar/model.hpp>
