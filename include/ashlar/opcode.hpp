// What an instruction of a device's stream does.
#pragma once

namespace ashlar {

enum class opcode : unsigned char {
  compute,  // run a pass
  send,     // hand a slot's content to a peer
  receive,  // fill a slot from a peer
  reduce,   // a stage's weight gradient is complete here: sum it over the stage's replicas
};

}  // namespace ashlar
