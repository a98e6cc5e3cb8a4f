// Formats of other systems: PyTorch's CSV of passes, and of passes with communication.
#pragma once

#include <ashlar/interop/pytorch_comms.hpp>
#include <ashlar/interop/pytorch_csv.hpp>
