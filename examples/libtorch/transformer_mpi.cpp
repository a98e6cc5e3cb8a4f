// Trains the transformer on processes, one for each device:
//   mpirun -n 4 transformer_mpi
// Each process has only its stages, and compares them with those of a plain loop.
#include "plain_training.hpp"
#include "schedules.hpp"
#include "transformer.hpp"
#include <ashlar/mpi/runtime.hpp>

#include <ATen/Parallel.h>
#include <mpi.h>
#include <torch/optim/adam.h>

#include <cstddef>
#include <cstdio>
#include <vector>

namespace {

using namespace libtorch;

// Whether all processes have the bits of the plain loop after some steps. Processes beyond the program's
// devices look on.
bool train(named_program const& of, transformer_config const& shape) {
  int me = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  bool const takes_part = me < of.program.device_count();
  MPI_Comm devices = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, me, &devices);
  int same = 1;
  if (takes_part) {
    staged_model<torch::nn::Sequential> const plain = transformer(shape, at::kDouble);
    staged_model<torch::nn::Sequential> mine = transformer(shape, at::kDouble);
    std::vector<torch::nn::Sequential> theirs;  // the same stages as ours
    for (std::size_t s = 0; s < plain.stages.size(); ++s)
      if (of.program.groups.member_of(static_cast<int>(s), me) < 0)
        mine.leave_out(s);
      else
        theirs.push_back(plain.stages[s]);
    stage_worker<torch::nn::Sequential> worker(mine);
    ashlar::mpi::runtime engine(devices, of.program, worker);
    std::vector<at::Tensor> const ours = parameters_of(mine.stages), same_stages = parameters_of(theirs);
    torch::optim::Adam our_steps(ours, torch::optim::AdamOptions(3e-3)),
        their_steps(parameters_of(plain.stages), torch::optim::AdamOptions(3e-3));
    for (int step = 0; step < 3; ++step) {
      std::vector<at::Tensor> const losses = plain_step(plain, of.program.view());
      engine.run();
      our_steps.step(), their_steps.step();
      for (std::size_t i = 0; i < ours.size(); ++i)
        if (!ours[i].grad().equal(same_stages[i].grad()) || !ours[i].equal(same_stages[i])) same = 0;
      for (int k = 0; k < shape.micro_batches; ++k)  // known where the last stage is
        if (worker.loss(k).defined() && !worker.loss(k).equal(losses[static_cast<std::size_t>(k)]))
          same = 0;
    }
  }
  if (takes_part) MPI_Comm_free(&devices);
  MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (me == 0)
    std::printf("%-15s %d processes: %s\n", of.name.c_str(), of.program.device_count(),
                same == 1 ? "the same bits" : "DIFFERENT");
  return same == 1;
}

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(1);  // each process has one device
  return ashlar::mpi::launch(argc, argv, [] {
    transformer_config const shape;
    bool good = true;
    for (named_program const& p : programs_for(shape.stages, shape.micro_batches))
      good = train(p, shape) && good;
    return good ? 0 : 1;
  });
}
