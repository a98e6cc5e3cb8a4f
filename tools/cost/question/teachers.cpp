#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/question/teachers.hpp>

namespace ashlar::cost {

question teacher_question(question const& q, architecture const& teacher) {
  question made = q;
  made.model = teacher;
  made.teachers.clear();
  made.measured = {};
  made.program.frozen_forwards = 0;
  made.program.holds_frozen_copy = false;
  made.layout.stages.clear();
  made.layout.recompute = recomputation::none;
  made.layout.recompute_in = {};
  made.layout.offload.parts = offloaded::none;
  if (!teacher.has_experts()) made.layout.expert = made.layout.expert_tensor = 1;
  // Which program it is does not depend on the teacher.
  program_kind const program = stack_of(q).program;
  if (stack_of(made).program != program) made.program.kind = program;
  return made;
}

}  // namespace ashlar::cost
