// Work that an interrupt ends early, with what was found so far.
#pragma once

namespace tool {

// While it lives, a first interrupt does not end the program.
class interrupt_watch {
 public:
  interrupt_watch();
  ~interrupt_watch();
  interrupt_watch(interrupt_watch const&) = delete;
  interrupt_watch& operator=(interrupt_watch const&) = delete;
  static bool has_come();
};

}  // namespace tool
