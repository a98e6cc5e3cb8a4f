// Every published schedule by name, and the schedules for any stage graph.
#pragma once

#include <ashlar/catalog/entries.hpp>
#include <ashlar/catalog/graphs.hpp>
#include <ashlar/catalog/heads.hpp>
#include <ashlar/catalog/published.hpp>
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/catalog/vocabulary.hpp>
#include <ashlar/catalog/vocabulary_entries.hpp>
