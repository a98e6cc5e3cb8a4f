// Pictures and listings: text, SVG, Chrome traces. HTML has a header of its own.
#pragma once

#include <ashlar/render/activations.hpp>
#include <ashlar/render/chrome_trace.hpp>
#include <ashlar/render/comparison.hpp>
#include <ashlar/render/curves.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/render/frontier.hpp>
#include <ashlar/render/named_curves.hpp>
#include <ashlar/render/needs.hpp>
#include <ashlar/render/svg.hpp>
#include <ashlar/render/text.hpp>
#include <ashlar/render/text_graph.hpp>
#include <ashlar/render/tradeoff.hpp>
