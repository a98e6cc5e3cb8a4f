// Questions about the teachers of a distillation.
#pragma once

#include <ashlar/cost/question/question.hpp>

namespace ashlar::cost {

// The question of a frozen model whose forward runs beside that of `q`, with the ranks and the program
// of that. Nothing of it is kept, run again or on the host; a model without experts has no ranks of
// them.
question teacher_question(question const& q, architecture const& teacher);

}  // namespace ashlar::cost
