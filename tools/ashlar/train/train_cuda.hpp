// Trains all devices on the GPUs of this process, or of the processes that a launcher has started.
#pragma once

#include "train/train_options.hpp"

namespace tool {

// Trains as train() does. Alone, the process has all devices, several on a GPU if there are fewer; with
// several processes each has as many as the others. One reports the errors that all have. Throws
// usage_error where the tool was built without CUDA, where there is no GPU that it can use, and if it
// does not fit on it; run_error when a step fails or stalls.
int train_on_cuda(train_options const& options);

}  // namespace tool
