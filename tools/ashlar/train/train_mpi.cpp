#include "train/train_mpi.hpp"

#include "command.hpp"
#include "report/counted.hpp"
#include "train/launch_watch.hpp"
#include "train/mpi_wait.hpp"
#include "train/session_of.hpp"
#include "train/train_restart.hpp"
#include "train/train_signals.hpp"
#include "train/train_team.hpp"
#include "train/training.hpp"
#include <ashlar/mpi/runtime.hpp>

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tool {

namespace {

using ashlar::mpi::communicator;
using ashlar::mpi::require;

// For each process, the first that runs on the same machine.
std::vector<int> nodes_of_processes(int process, int processes) {
  MPI_Comm node = MPI_COMM_NULL;
  require(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, process, MPI_INFO_NULL, &node));
  int first = process;
  require(MPI_Bcast(&first, 1, MPI_INT, 0, node));
  MPI_Comm_free(&node);
  std::vector<int> all(static_cast<std::size_t>(processes));
  require(MPI_Allgather(&first, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD));
  return all;
}

template <class Scalar>
class mpi_team : public team<Scalar> {
 public:
  mpi_team(training const& t, int process)
      : team<Scalar>(t, process, 1, process, t.devices()),
        t_(&t),
        own_(communicator::copy(MPI_COMM_WORLD)),
        nodes_(nodes_of_processes(process, t.devices())) {
    adopt();
  }

  void run(step_plan const& plan) override {
    this->set_optimizer(plan.optimizer);
    runtime_->run();
  }
  void unite(std::span<std::byte> bytes) override {
    constexpr std::size_t most = std::size_t{1} << 28;
    for (std::size_t from = 0; from < bytes.size(); from += most) {
      std::span<std::byte> const some = bytes.subspan(from, std::min(most, bytes.size() - from));
      united_.assign(some.begin(), some.end());  // if others fail, MPI goes on to refer to it
      MPI_Request request = MPI_REQUEST_NULL;
      require(MPI_Iallreduce(MPI_IN_PLACE, united_.data(), static_cast<int>(some.size()), MPI_BYTE,
                             MPI_BOR, own_, &request));
      runtime_->meet(request);
      std::copy(united_.begin(), united_.end(), some.begin());
    }
  }
  void work(std::function<void()> const& act) override { runtime_->work(act); }
  std::vector<ashlar::instruction_time> times() const override {
    ashlar::program_view const& p = runtime_->view();
    std::size_t const all = p.instructions.size();
    std::vector<ashlar::instruction_time> times(all * static_cast<std::size_t>(p.data_ranks));
    std::size_t const first = static_cast<std::size_t>(runtime_->rank()) * all
                              + static_cast<std::size_t>(stream_begin(p, runtime_->device_number()));
    std::copy(runtime_->times().begin(), runtime_->times().end(),
              times.begin() + static_cast<std::ptrdiff_t>(first));
    return times;
  }

  void adopt() override {
    runtime_.reset();
    runtime_ =
        std::make_unique<runtime>(MPI_COMM_WORLD, t_->program, *this->workers().front(), options());
  }

  // Devices of a node if processes stand in blocks, as many on each machine; else each is a node of its
  // own.
  int node_size() const override {
    int const size = static_cast<int>(std::count(nodes_.begin(), nodes_.end(), nodes_[0]));
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i] != static_cast<int>(i) / size * size) return 1;
    return size == this->processes() ? 0 : size;
  }
  std::vector<double> time_transfers(link_class which, probe what) override {
    int other = 1;
    while (other < this->processes()
           && (nodes_[static_cast<std::size_t>(other)] == nodes_[0]) != (which == link_class::inside))
      ++other;
    if (other >= this->processes()) return {};
    std::vector<double> all(static_cast<std::size_t>(what.repeats), 0.0);
    meet();
    this->work([&] {
      if (this->process() != 0 && this->process() != other) return;
      communicator const pair = communicator::of_members(MPI_COMM_WORLD, {0, other}, 0);
      ashlar::measure::idle_worker w{what.bytes};
      try {
        ashlar::mpi::runtime<ashlar::measure::idle_worker> two(pair, ashlar::measure::round_trip(), w,
                                                               options());
        for (double& one : all) {
          two.run();
          if (this->process() == 0) one = ashlar::measure::one_way_ns(two.view(), two.times());
        }
      } catch (ashlar::mpi::stalled const& e) {
        throw ashlar::mpi::stalled(
            fmt::format("in messages between processes 0 and {}, the two of: {}", other, e.what()));
      }
    });
    team<Scalar>::unite(all);
    return all;
  }
  std::vector<double> time_sums(probe what) override {
    int const ranks = this->processes();
    if (ranks < 2) return {};
    auto const repeats = static_cast<std::size_t>(what.repeats);
    std::vector<double> each(repeats * static_cast<std::size_t>(ranks), 0.0);  // process after process
    meet();
    this->work([&] {
      ashlar::measure::idle_worker w{what.bytes};
      ashlar::mpi::runtime<ashlar::measure::idle_worker> together(own_, ashlar::measure::sum_over(ranks),
                                                                  w, options());
      double* own = each.data() + repeats * static_cast<std::size_t>(this->process());
      for (int i = 0; i < what.repeats; ++i) {
        together.run();
        *own++ = ashlar::measure::sum_ns(together.view(), together.times(), 0);
      }
    });
    team<Scalar>::unite(each);
    std::vector<double> all(each.begin(), each.begin() + what.repeats);
    for (std::size_t i = 0; i < each.size(); ++i)  // of who came last
      all[i % repeats] = std::min(all[i % repeats], each[i]);
    return all;
  }

 private:
  using runtime = ashlar::mpi::runtime<typename team<Scalar>::worker>;

  // Returns when all are here. MPI has no deadline for processes that are not.
  void meet() {
    MPI_Request request = MPI_REQUEST_NULL;
    require(MPI_Ibarrier(own_, &request));
    runtime_->meet(request);
  }
  ashlar::mpi::run_options options() const {
    return {.deadline = t_->options->deadline_ms(), .window = t_->options->window};
  }

  training const* t_;
  std::vector<std::byte> united_;
  communicator own_;
  std::vector<int> nodes_;
  std::unique_ptr<runtime> runtime_;
};

// The number of processes where `here` holds.
int count_of(bool here, std::chrono::milliseconds deadline) {
  int count = here ? 1 : 0;
  MPI_Request request = MPI_REQUEST_NULL;
  ashlar::mpi::require(
      MPI_Iallreduce(MPI_IN_PLACE, &count, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
  if (!ends_within(request, deadline))
    throw ashlar::mpi::stalled(fmt::format("not all processes were ready to train within {} ms",
                                           static_cast<long long>(deadline.count())));
  return count;
}

// The training, which is the same on all processes, or the error with which they end.
training agreed_training(train_options const& o, int process, int processes) {
  std::optional<training> t;
  std::exception_ptr error;
  try {
    t.emplace(training_of(o));
    if (t->devices() != processes)
      throw usage_error(
          fmt::format("--backend mpi needs a process for each of {} ({} of {}), and there {} {}: start "
                      "it with mpirun "
                      "-n {}",
                      counted(t->devices(), "device"), counted(t->program.device_count(), "device"),
                      counted(t->program.data_ranks, "data-parallel rank"),
                      processes == 1 ? "is" : "are", processes, t->devices()));
  } catch (...) {
    error = std::current_exception();
  }
  int const failed = count_of(error != nullptr, o.deadline_ms());
  if (error && (process == 0 || failed < processes)) std::rethrow_exception(error);
  if (failed > 0) throw reported_elsewhere{};
  return std::move(*t);
}

// Ends MPI with its scope.
struct mpi_frame {
  launch_watch watch;
  int process = 0, processes = 0;

  explicit mpi_frame(std::chrono::milliseconds deadline) : watch(deadline) {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    watch.mpi_has_started();
    MPI_Comm_rank(MPI_COMM_WORLD, &process);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
  }
  mpi_frame(mpi_frame const&) = delete;
  mpi_frame& operator=(mpi_frame const&) = delete;
  ~mpi_frame() { MPI_Finalize(); }

  // This process fails by itself: all others end, too.
  std::string named(char const* why) const { return fmt::format("process {}: {}", process, why); }
  [[noreturn]] void end_all(int code, std::string const& why) const {
    std::fflush(stdout);
    std::fputs(("ashlar: " + why + "\n").c_str(), stderr);
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
  }
};

}  // namespace

template <class Scalar>
int train_on_mpi(train_options const& o) {
  mpi_frame const mpi(o.deadline_ms());
  if (mpi.process != 0) {  // process 0 prints
    reports_signals = 0;
    if (std::freopen("/dev/null", "w", stdout) == nullptr)
      mpi.end_all(unusable, mpi.named(std::strerror(errno)));
  }
  also_set = &ashlar::mpi::termination_requested;
  stop_on_signals();
  training t = agreed_training(o, mpi.process, mpi.processes);
  std::optional<agreed_error> agreed;
  try {
    mpi_team<Scalar> all(t, mpi.process);
    try {
      int const code = session_of<Scalar>(t, all);
      if (mpi.process == 0) report_restarting(o, code);
      return code;
    } catch (agreed_error const& e) {
      agreed = e;
    } catch (usage_error const& e) {
      mpi.end_all(unusable, mpi.named(e.what()));
    } catch (ashlar::mpi::stalled const& e) {  // while what MPI refers to is still there
      mpi.end_all(failed, e.what());
    } catch (ashlar::mpi::peer_failed const& e) {
      mpi.end_all(failed, e.what());
    } catch (std::exception const& e) {
      mpi.end_all(failed, mpi.named(e.what()));
    }
  } catch (std::exception const& e) {
    mpi.end_all(failed, mpi.named(e.what()));
  }
  if (mpi.process != 0) throw reported_elsewhere{agreed->code};
  throw agreed_error(*agreed);
}

template int train_on_mpi<float>(train_options const&);
template int train_on_mpi<double>(train_options const&);

}  // namespace tool
