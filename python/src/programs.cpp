// Programs: lowered, proved, simulated, written for PyTorch.
#include "bindings.hpp"
#include <ashlar/interop/program_certificate.hpp>
#include <ashlar/interop/pytorch_comms.hpp>
#include <ashlar/interop/pytorch_csv.hpp>
#include <ashlar/interop/pytorch_lines.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/search/offload.hpp>
#include <ashlar/simulate/simulate.hpp>
#include <ashlar/simulate/slack.hpp>

#include <nanobind/operators.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace python {

namespace {

using ashlar::instruction;
using ashlar::program;

ashlar::csv_dialect dialect_of(std::string const& word) {
  using enum ashlar::csv_dialect;
  return meaning_of<ashlar::csv_dialect>("dialect", word,
                                         {{"newest", detect},
                                          {"b-bw", b_bw},
                                          {"i-b", i_b},
                                          {"reduce-grad", reduce_grad},
                                          {"waits", waits}});
}

ashlar::transfer_lanes lanes_of(std::string const& word) {
  using enum ashlar::transfer_lanes;
  return meaning_of<ashlar::transfer_lanes>("lanes", word,
                                            {{"one", one},
                                             {"one_a_peer", one_a_peer},
                                             {"one_a_direction", one_a_direction},
                                             {"one_a_kind", one_a_kind}});
}

program lowered(ashlar::schedule const& s, int data_ranks, std::string const& sharding,
                std::string const& reduction, std::string const& lanes, int weight_buffers, int prefetch,
                std::string const& receives, std::optional<ashlar::offload_choice> const& offload,
                std::optional<ashlar::residency> const& residency) {
  using ashlar::gradient_reduction;
  using ashlar::receive_time;
  using ashlar::sharding_level;
  return ashlar::lower(
      s, {.lanes = lanes_of(lanes),
          .data_ranks = within("data_ranks", data_ranks, 1, limits::data_ranks),
          .reduction = meaning_of<gradient_reduction>(
              "reduction", reduction,
              {{"at_end", gradient_reduction::at_end},
               {"eager", gradient_reduction::eager},
               {"eager_middle_last", gradient_reduction::eager_middle_last}}),
          .sharding = meaning_of<sharding_level>("sharding", sharding,
                                                 {{"none", sharding_level::none},
                                                  {"optimizer", sharding_level::optimizer},
                                                  {"gradients", sharding_level::gradients},
                                                  {"weights", sharding_level::weights},
                                                  {"full", sharding_level::full}}),
          .weight_buffers = within("weight_buffers", weight_buffers, 1, limits::devices),
          .prefetch = within("prefetch", prefetch, 0, limits::passes),
          .weights = residency ? *residency : ashlar::residency{},
          .receives = meaning_of<receive_time>(
              "receives", receives,
              {{"when_sent", receive_time::when_sent}, {"when_needed", receive_time::when_needed}}),
          .offload = offload ? offload->offload : ashlar::offload_options{}});
}

void prove(program const& p) {
  if (ashlar::diagnosis const d = ashlar::check(p); !d.ok()) throw refused{d, ashlar::explain(d, p)};
}

std::string certified(program const& p, std::string const& name) {
  if (std::string const why = ashlar::certificate_obstacle(p); !why.empty())
    throw nb::value_error(why.c_str());
  prove(p);
  return ashlar::program_certificate(p, name);
}

// Throws ValueError with the reason.
void must_run_in_pytorch(program const& p) {
  if (std::string const why = ashlar::pytorch_obstacle(p); !why.empty())
    throw nb::value_error(("PyTorch cannot run it: " + why).c_str());
}

std::string words_of(std::vector<ashlar::csv_problem> const& problems) {
  std::string all;
  for (ashlar::csv_problem const& p : problems) all += (all.empty() ? "" : "\n") + to_string(p);
  return all;
}

ashlar::csv_tokens tokens_of(std::string const& text) {
  ashlar::csv_problems problems(ashlar::csv_options{}.most_problems);
  ashlar::csv_tokens tokens = ashlar::read_csv_tokens(text, {}, problems);
  if (!problems.none()) throw nb::value_error(words_of(problems.take()).c_str());
  return tokens;
}

program read(std::string const& text, std::string const& lanes) {
  ashlar::csv_tokens const tokens = tokens_of(text);
  ashlar::csv_problems problems(ashlar::csv_options{}.most_problems);
  ashlar::csv_program found = ashlar::read_pytorch_comms(tokens, problems, lanes_of(lanes));
  if (!found.value) throw nb::value_error(words_of(found.problems).c_str());
  if (std::string const why = ashlar::pytorch_lines(tokens, found.value->lanes).run(); !why.empty())
    throw nb::value_error(why.c_str());
  return std::move(*found.value);
}

char const* word_of(ashlar::transfer_lanes lanes) {
  switch (lanes) {
    case ashlar::transfer_lanes::one:
      return "one";
    case ashlar::transfer_lanes::one_a_peer:
      return "one_a_peer";
    case ashlar::transfer_lanes::one_a_direction:
      return "one_a_direction";
    case ashlar::transfer_lanes::one_a_kind:
      break;
  }
  return "one_a_kind";
}

std::map<std::string, std::string> communicators_of(std::string const& text) {
  ashlar::csv_tokens const tokens = tokens_of(text);
  std::map<std::string, std::string> all;
  for (ashlar::pytorch_communicators const& c : ashlar::all_pytorch_communicators)
    all[word_of(c.lanes)] = ashlar::pytorch_deadlock(tokens, c.lanes);
  return all;
}

// Throws violation for what does not suit the program.
ashlar::simulation_options options_of(program const& p, ashlar::costs cost, given_memory const& stages,
                                      int data_ranks) {
  ashlar::simulation_options options{
      .cost = std::move(cost), .memory = memory_of(stages), .data_ranks = data_ranks};
  if (auto const d = check(options, p.stage_count(), p.device_count(), p.micro_batch_count(),
                           p.graph.sequence_chunks());
      !d.ok())
    throw ashlar::violation{d};
  return options;
}

void bind_instruction(nb::module_& m) {
  nb::class_<instruction>(m, "Instruction", "One step of one device's stream.")
      .def_prop_ro("code", [](instruction const& i) { return std::string(ashlar::name_of(i.code)); })
      .def_prop_ro(
          "kind", [](instruction const& i) { return kind_of(i.what); }, "Kind of the pass, as in Pass.")
      .def_prop_ro(
          "letter", [](instruction const& i) { return std::string(1, ashlar::letter_of(i.what.kind)); },
          "Letter of the pass: F, R, B, I or W.")
      .def_prop_ro(
          "stage", [](instruction const& i) { return i.what.stage; },
          "Stage of the pass; for a transfer, the stage that made the value.")
      .def_prop_ro("micro_batch", [](instruction const& i) { return i.what.micro_batch; })
      .def_ro("to", &instruction::to, "For a transfer: the stage that the value is for.")
      .def_ro("peer", &instruction::peer, "For a transfer: the other device.")
      .def_ro("group", &instruction::group, "For a sum: the parameter group, which is a stage's number.")
      .def_ro("overlaps_next", &instruction::overlaps_next)
      .def("__repr__", [](instruction const& i) { return to_string(i); });
}

void bind_program(nb::module_& m) {
  nb::class_<program>(m, "Program", "A stream of instructions for each device.")
      .def_prop_ro("devices", &program::device_count)
      .def_prop_ro("stages", &program::stage_count)
      .def_prop_ro("micro_batches", &program::micro_batch_count)
      .def_prop_ro("sequence_chunks", [](program const& p) { return p.graph.sequence_chunks(); })
      .def_prop_ro(
          "is_chain", [](program const& p) { return ashlar::is_chain(p.graph); },
          "Whether each stage feeds the next and no other.")
      .def_prop_ro("data_ranks", [](program const& p) { return p.data_ranks; })
      .def_prop_ro("placement", [](program const& p) { return p.where; })
      .def_prop_ro(
          "route", [](program const& p) { return p.route; }, "Route of each micro-batch.")
      .def_prop_ro("trains", [](program const& p) { return p.mode == ashlar::execution_mode::training; })
      .def(
          "holders",
          [](program const& p, int group) {
            auto const held = p.groups.holders(within("group", group, 0, p.groups.count() - 1));
            return std::vector<int>(held.begin(), held.end());
          },
          "group"_a, "The devices that have the stage's parameters.")
      .def(
          "stream",
          [](program const& p, int device) {
            auto const all = p.view().stream(within("device", device, 0, p.device_count() - 1));
            return std::vector<instruction>(all.begin(), all.end());
          },
          "device"_a, "The device's instructions, in order.")
      .def("check", &prove,
           "Proves that it is complete, ordered, deadlock-free and memory-safe; raises Violation.")
      .def("certificate", &certified, "name"_a = "",
           "JSON by which ashlar_verify judges the program. Raises Violation unless it is proved, and "
           "ValueError with the reason if there is none for such a program.")
      .def(
          "pytorch_obstacle", [](program const& p) { return ashlar::pytorch_obstacle(p); },
          "Why PyTorch's runtime cannot run it, or an empty string.")
      .def(
          "pytorch",
          [](program const& p, std::string const& dialect) {
            must_run_in_pytorch(p);
            return ashlar::pytorch_comms_csv(p, dialect_of(dialect));
          },
          "dialect"_a = "newest",
          "PyTorch's CSV with transfers, reductions and gathers (compute_comms).")
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__repr__", [](program const& p) {
        return "<Program: " + std::to_string(p.device_count()) + " devices, "
               + std::to_string(p.instructions.size()) + " instructions>";
      });
  m.def("lower", &lowered, "value"_a, nb::kw_only(), "data_ranks"_a = 1, "sharding"_a = "none",
        "reduction"_a = "eager", "lanes"_a = "one", "weight_buffers"_a = 1, "prefetch"_a = 1,
        "receives"_a = "when_sent", "offload"_a = nb::none(), "residency"_a = nb::none(),
        "The schedule's program: passes, transfers, and sums of gradients.");
  m.def(
      "write_pytorch",
      [](ashlar::schedule const& s, std::string const& dialect) {
        return ashlar::pytorch_csv(s, dialect_of(dialect));
      },
      "schedule"_a, "dialect"_a = "newest", "PyTorch's CSV of passes alone (compute_only).");
  m.def(
      "read_pytorch_program", &read, "text"_a, "lanes"_a = "one",
      "The program of PyTorch's CSV with communication, proved. Raises ValueError with line and "
      "column of what "
      "is wrong. lanes: which transfers of a device share a communicator: all (one), those with a peer "
      "(one_a_peer), those from a rank to another (one_a_direction), or activations and gradients each "
      "(one_a_kind).");
  m.def(
      "pytorch_communicators", &communicators_of, "text"_a,
      "By lanes (one, one_a_kind, one_a_direction: what PyTorch has had), why a CSV with communication "
      "gets stuck with them; an empty string where it does not.");
}

}  // namespace

void bind_programs(nb::module_& m) {
  using ashlar::device_memory;
  using ashlar::device_usage;
  using ashlar::simulation;
  bind_instruction(m);
  bind_program(m);
  nb::class_<device_usage>(m, "DeviceUsage", "Ticks of a device; the five sum to the makespan.")
      .def_ro("busy", &device_usage::busy)
      .def_ro("warm_up", &device_usage::warm_up)
      .def_ro("steady", &device_usage::steady)
      .def_ro("cool_down", &device_usage::cool_down)
      .def_ro("exposed", &device_usage::exposed, "Waiting for transfers.")
      .def("__repr__", [](device_usage const& u) {
        return "DeviceUsage(busy=" + std::to_string(u.busy) + ", idle=" + std::to_string(u.idle()) + ")";
      });
  nb::class_<device_memory>(m, "DeviceMemory", "Memory of a device, in the units of its StageMemory.")
      .def_ro("resident", &device_memory::resident, "There all the time.")
      .def_ro("peak", &device_memory::peak, "The most at any time.")
      .def_ro("peak_time", &device_memory::peak_time)
      .def_ro("host_peak", &device_memory::host_peak, "The most at any time on the device's host.")
      .def("__repr__", [](device_memory const& d) {
        return "DeviceMemory(resident=" + std::to_string(d.resident) + ", peak=" + std::to_string(d.peak)
               + ")";
      });
  nb::class_<simulation>(m, "Simulation", "Times of a simulated run of a program.")
      .def_prop_ro("makespan", &simulation::makespan)
      .def_ro("usage", &simulation::usage, "By device.")
      .def_ro("memory", &simulation::memory, "By device.")
      .def("__repr__", [](simulation const& s) {
        return "<Simulation: makespan " + std::to_string(s.makespan()) + ">";
      });
  m.def(
      "simulate",
      [](program const& p, ashlar::costs cost, given_memory const& stages, int data_ranks) {
        return ashlar::simulate(p, options_of(p, std::move(cost), stages, data_ranks));
      },
      "value"_a, "costs"_a = ashlar::costs{}, "memory"_a = given_memory(1), "data_ranks"_a = 1,
      "Runs a program on simulated devices and links. memory: one StageMemory for all stages, or one "
      "each; where micro-batches differ, a list by micro-batch instead of each.");
  m.def(
      "link_slacks",
      [](program const& p, ashlar::costs cost, given_memory const& stages, int data_ranks) {
        return ashlar::link_slacks(p, options_of(p, std::move(cost), stages, data_ranks));
      },
      "program"_a, "costs"_a = ashlar::costs{}, "memory"_a = given_memory(1), "data_ranks"_a = 1,
      "Of each link that the program's transfers take, how much later all of them may be before the "
      "simulated makespan grows. Arguments as of simulate.");
}

}  // namespace python
