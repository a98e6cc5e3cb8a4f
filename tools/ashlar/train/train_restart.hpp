// A training that is started again, from its last checkpoint, when it dies.
#pragma once

#include "train/train_options.hpp"

namespace tool {

// Runs the tool's own command line in a process of its own (with the MPI backend, in a launcher's), up
// to options.restart times more. Returns the exit_code of the last. Throws run_error when the last has
// died.
int train_again_and_again(train_options const& options);

// Reports the exit_code of a training that may have been started so: a launcher that was told to end has
// a code of its own.
void report_restarting(train_options const& options, int code);

// Reports that a training that may have been started so breaks off with all its devices there: for want
// of room, say. The next one has them, too.
void report_breaking_off(train_options const& options);

}  // namespace tool
