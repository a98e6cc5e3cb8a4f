// The witnesses of a diagnosis, each on a line of its own among its neighbours on its device.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/function_ref.hpp>

#include <cstddef>
#include <string>

namespace ashlar::render_detail {

// The site's neighbours in a stream of `size`, three either side, the site's own in brackets.
std::string neighbours(site const& s, std::size_t size, char const* between,
                       function_ref<std::string(std::size_t)> name_of_index);

std::string with_neighbours(diagnosis const& d, int device_count, char const* between,
                            function_ref<std::size_t(std::size_t)> size_of,
                            function_ref<std::string(std::size_t, std::size_t)> name_of_index,
                            std::string text);

}  // namespace ashlar::render_detail

#ifndef ASHLAR_COMPILED
#include <ashlar/render/neighbours.ipp>
#endif
