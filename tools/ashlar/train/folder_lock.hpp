// Lets one training at a time write checkpoints into a folder.
#pragma once

#include <chrono>
#include <string>

namespace tool {

// Holds the folder while it lives. If the process is killed, the system gives the lock back. The file
// says who holds it. It is hidden, so that no corpus has it.
class folder_lock {
 public:
  // Makes the folder where there is none. Waits up to `timeout` for a holder to end: one whose launcher
  // was killed needs a moment. Throws run_error, naming the folder and its holder; usage_error, saying
  // why nothing can be written there.
  folder_lock(std::string const& folder, std::chrono::milliseconds timeout);
  folder_lock(folder_lock const&) = delete;
  folder_lock& operator=(folder_lock const&) = delete;
  ~folder_lock();

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace tool
