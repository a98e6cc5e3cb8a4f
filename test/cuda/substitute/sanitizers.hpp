// Tells the sanitizers of pages of device memory, and of stacks of fibers.
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASHLAR_ADDRESS_SANITIZER
#endif
#if __has_feature(thread_sanitizer)
#define ASHLAR_THREAD_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ASHLAR_ADDRESS_SANITIZER
#endif
#if defined(__SANITIZE_THREAD__)
#define ASHLAR_THREAD_SANITIZER
#endif

#if defined(ASHLAR_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) static_cast<void>(0)
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) static_cast<void>(0)
#endif
