// Memory that was freed stays with the process.
#pragma once

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace tool {

// By default, glibc gives every large block back to the kernel when it is freed, and has pages cleared
// for the next one. A schedule of millions of passes takes and frees such blocks all the time: a fifth
// of its time is the kernel's then. Call it before anything large is allocated.
inline void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);         // no block has pages of its own
  mallopt(M_TRIM_THRESHOLD, -1);  // nor are free pages given back
#endif
}

}  // namespace tool
