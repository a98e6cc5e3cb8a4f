// expect: (micro_batches|micro_batches_tag)
// Counts cannot be swapped: a catalog entry takes devices first, then micro-batches.
#include <ashlar/catalog/entries.hpp>

using namespace ashlar;

#ifdef OK
constexpr auto b = [] { return catalog::gpipe(devices{4}, micro_batches{8}).micro_batch_count(); }();
#else
constexpr auto b = [] { return catalog::gpipe(micro_batches{8}, devices{4}).micro_batch_count(); }();
#endif
