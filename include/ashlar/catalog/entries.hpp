// The published schedules by name, but for those that are searched for (searched_entries.hpp). To add
// one: its block (or orders) in catalog/, a line here, and its facts in the tests.
#pragma once

#include <ashlar/catalog/entry.hpp>
#include <ashlar/catalog/published.hpp>
#include <ashlar/catalog/shape.hpp>
#include <ashlar/core/list_view.hpp>
#include <ashlar/schedule/reorder.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <array>
#include <cstddef>

namespace ashlar::catalog {

// All published schedules that are given by a formula. find() looks one up by name.
inline constexpr std::array entries{
    entry{.name = "depth-first-accumulation",
          .summary = "one device, no pipeline: micro-batch after micro-batch, for any p",
          .source = "Lamy-Poirier, Breadth-First Pipeline Parallelism, 2022",
          .block_of = [](shape const& s) { return depth_first_accumulation(s.v); },
          .check = check_chunks,
          .placed = placement_kind::given,
          .parameters = parameters_of({parameter::chunk_count})},
    entry{.name = "breadth-first-accumulation",
          .summary = "one device, no pipeline: all micro-batches chunk by chunk, for any p",
          .source = "Lamy-Poirier, Breadth-First Pipeline Parallelism, 2022",
          .block_of = [](shape const& s) { return breadth_first_accumulation(s.v, s.m); },
          .check = check_chunks,
          .placed = placement_kind::given,
          .parameters = parameters_of({parameter::chunk_count})},
    entry{.name = "gpipe",
          .summary = "all forwards, then all backwards",
          .source = "Huang et al., GPipe, 2019",
          .block_of = [](shape const& s) { return gpipe(s.p, s.m); }},
    entry{.name = "1f1b",
          .summary = "one forward, one backward after a warm-up",
          .source = "Narayanan et al., PipeDream-Flush, 2020",
          .block_of = [](shape const& s) { return one_f_one_b(s.p); }},
    entry{.name = "eager-1f1b",
          .summary = "1F1B with twice the warm-up, to hide transfers",
          .source = "Zhuang et al., 2022",
          .block_of = [](shape const& s) { return eager_one_f_one_b(s.p); }},
    entry{.name = "1f1b-recompute",
          .summary = "1F1B that keeps only the stages' inputs and runs each forward again",
          .source = "Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016",
          .block_of = [](shape const& s) { return one_f_one_b_recompute(s.p); }},
    entry{.name = "zb-h1",
          .summary = "split backward, weight passes fill the bubble, memory of 1F1B",
          .source = "Qi et al., Zero Bubble Pipeline Parallelism, 2023",
          .block_of = [](shape const& s) { return zb_h1(s.p); }},
    entry{.name = "zb-h2",
          .summary = "ZB-H1 with twice the warm-up and memory, no bubble",
          .source = "Qi et al., Zero Bubble Pipeline Parallelism, 2023",
          .block_of = [](shape const& s) { return zb_h2(s.p); }},
    entry{.name = "depth-first",
          .summary = "interleaved 1F1B: groups of micro-batches take turns on a device's chunks",
          .source = "Narayanan et al., Efficient Large-Scale Training with Megatron-LM, 2021",
          .block_of = [](shape const& s) { return depth_first(s.p, s.v, group_of(s)); },
          .schedule_of =
              [](shape const& s) {
                return in_groups(depth_first(s.p, s.v, group_of(s)), s, 2) | squeeze();
              },
          .check = check_groups,
          .placed = placement_kind::looped,
          .parameters = parameters_of({parameter::chunk_count, parameter::group_size})},
    entry{.name = "combined-1f1b",
          .summary = "interleaved 1F1B whose forwards run with backwards, exchanges behind compute",
          .source = "NVIDIA, Megatron-Core, overlap_moe_expert_parallel_comm, 2025",
          .schedule_of = [](shape const& s) { return combined_one_f_one_b(s) | squeeze(); },
          .check = check_combined,
          .placed = placement_kind::looped,
          .parameters = parameters_of({parameter::chunk_count, parameter::group_size})},
    entry{.name = "breadth-first",
          .summary = "all micro-batches through one chunk of a device before the next",
          .source = "Lamy-Poirier, Breadth-First Pipeline Parallelism, 2022",
          .block_of = [](shape const& s) { return breadth_first(s.p, s.v, s.m); },
          .check = check_chunks,
          .placed = placement_kind::looped,
          .parameters = parameters_of({parameter::chunk_count})},
    entry{.name = "looped-bfs",
          .summary = "breadth-first whose backwards take the last micro-batch first",
          .source = "PyTorch, ScheduleLoopedBFS, 2024",
          .schedule_of = [](shape const& s) { return looped_bfs(s) | squeeze(); },
          .check = check_chunks,
          .placed = placement_kind::looped,
          .parameters = parameters_of({parameter::chunk_count})},
    entry{.name = "breadth-first-hybrid",
          .summary = "breadth-first in rounds, one after another",
          .source = "Lamy-Poirier, Breadth-First Pipeline Parallelism, 2022",
          .block_of = [](shape const& s) { return breadth_first(s.p, s.v, s.m, s.rounds); },
          .schedule_of = [](shape const& s) { return breadth_first_in_rounds(s) | squeeze(); },
          .check = check_rounds,
          .placed = placement_kind::looped,
          .parameters = parameters_of({parameter::chunk_count, parameter::round_count})},
    entry{.name = "interleaved-zb",
          .summary = "interleaved 1F1B with the backward split, as ZB-H1",
          .source = "Qi et al., Zero Bubble Pipeline Parallelism, 2023; PyTorch",
          .block_of = [](shape const& s) { return interleaved_zb(s.p, s.v, group_of(s)); },
          .schedule_of =
              [](shape const& s) {
                return in_groups(interleaved_zb(s.p, s.v, group_of(s)), s, 1) | squeeze();
              },
          .check = check_groups,
          .placed = placement_kind::looped,
          .parameters = parameters_of({parameter::chunk_count, parameter::group_size})},
    entry{.name = "grouped-interleaved",
          .summary = "groups of micro-batches take turns on the chunks, split backward",
          .source = "Qi et al., Pipeline Parallelism with Controllable Memory, 2024",
          .schedule_of = [](shape const& s) { return grouped_interleaved(s); },
          .check = check_close_groups,
          .placed = placement_kind::looped,
          .parameters = parameters_of({parameter::chunk_count, parameter::group_size})},
    entry{.name = "v-min",
          .summary = "V-shaped placement, split backward, a third of the memory of 1F1B",
          .source = "Qi et al., Pipeline Parallelism with Controllable Memory, 2024",
          .block_of = [](shape const& s) { return v_min(s.p); },
          .schedule_of = [](shape const& s) { return v_min(s.p) | repeat(s.m) | reorder(); },
          .placed = placement_kind::v},
    entry{.name = "v-half",
          .summary = "V-shaped placement, split backward, half the memory of 1F1B",
          .source = "Qi et al., Pipeline Parallelism with Controllable Memory, 2024",
          .block_of = [](shape const& s) { return v_half(s.p); },
          .schedule_of = [](shape const& s) { return v_half(s.p) | repeat(s.m) | reorder(); },
          .placed = placement_kind::v},
    entry{.name = "v-zb",
          .summary = "V-shaped placement, split backward, the memory of 1F1B, no bubble",
          .source = "Qi et al., Pipeline Parallelism with Controllable Memory, 2024",
          .block_of = [](shape const& s) { return v_zb(s.p); },
          .schedule_of = [](shape const& s) { return v_zb(s.p) | repeat(s.m) | reorder(); },
          .placed = placement_kind::v},
    entry{.name = "1f1b-v",
          .summary = "V-shaped placement, two thirds of the memory of 1F1B",
          .source = "Qi et al., Pipeline Parallelism with Controllable Memory, 2024",
          .block_of = [](shape const& s) { return one_f_one_b_v(s.p); },
          .schedule_of =
              [](shape const& s) {
                return one_f_one_b_v(s.p) | repeat(s.m) | reorder(reordering::throughout);
              },
          .placed = placement_kind::v},
    entry{.name = "hanayo",
          .summary = "down and up the devices in waves, forward and then backward",
          .source = "Liu et al., Hanayo, 2023",
          .block_of = [](shape const& s) { return hanayo(s.p, s.w, s.m); },
          .check = check_waves,
          .placed = placement_kind::wave,
          .parameters = parameters_of({parameter::wave_count})},
    entry{.name = "dualpipev",
          .summary = "DualPipe folded onto half the devices: forwards overlapped with backwards",
          .source = "DeepSeek-AI, DualPipe, 2025",
          .schedule_of = [](shape const& s) { return dualpipev(s.p, s.m) | squeeze(); },
          .check = check_dualpipev_shape,
          .placed = placement_kind::v},
    entry{.name = "stp",
          .summary = "on a V, forwards run with backwards and weight passes, all-reduces behind compute",
          .source = "Qi et al., Synergistic Tensor and Pipeline Parallelism, 2025",
          .schedule_of = [](shape const& s) { return stp(s.p, s.m) | squeeze(); },
          .check = check_stp_shape,
          .placed = placement_kind::v},
    entry{.name = "gems",
          .summary = "a micro-batch down, then one up, one held at a time",
          .source = "Jain et al., GEMS, 2020",
          .block_of = [](shape const& s) { return gems(s.p); },
          .schedule_of = [](shape const& s) { return gems(s.p, s.m) | squeeze(); },
          .placed = placement_kind::given},
    entry{.name = "chimera",
          .summary = "1F1B down and up the devices, each in the bubbles of the other",
          .source = "Li and Hoefler, Chimera, 2021",
          .block_of = [](shape const& s) { return chimera(s.p, s.routes); },
          .check = check_chimera_shape,
          .placed = placement_kind::given,
          .parameters = parameters_of({parameter::route_count})},
    entry{.name = "chimera-forward-doubling",
          .summary = "Chimera with two forwards at a time, no bubble between units of 2p micro-batches",
          .source = "Li and Hoefler, Chimera, 2021, section 3.5",
          .block_of = [](shape const& s) { return chimera_forward_doubling(s.p); },
          .check = check_forward_doubling_shape,
          .placed = placement_kind::given},
    entry{.name = "chimera-backward-halving",
          .summary = "Chimera with micro-batches halved for the backward; counts the halves",
          .source = "Li and Hoefler, Chimera, 2021, section 3.5",
          .block_of = [](shape const& s) { return chimera_forward_doubling(s.p); },
          .schedule_of =
              [](shape const& s) {
                return chimera_forward_doubling(s.p) | repeat(micro_batches{2 * s.m.value}) | squeeze();
              },
          .check = check_backward_halving_shape,
          .placed = placement_kind::given},
    entry{.name = "bitpipe",
          .summary = "Chimera of two V-shaped pipelines",
          .source = "Wu et al., BitPipe, 2024",
          .block_of = [](shape const& s) { return bitpipe(s.p, s.junction); },
          .check = check_bitpipe_shape,
          .placed = placement_kind::given,
          .parameters = parameters_of({parameter::unit_junction})},
    entry{.name = "dualpipe",
          .summary = "two directions, forwards overlapped with backwards of the other",
          .source = "DeepSeek-AI, DeepSeek-V3, 2024",
          .schedule_of = [](shape const& s) { return dualpipe(s.p, s.m) | squeeze(); },
          .check = check_dualpipe_shape,
          .placed = placement_kind::given},
    entry{.name = "inference",
          .summary = "forwards only: fill and drain",
          .source = "Huang et al., GPipe, 2019",
          .block_of = [](shape const& s) { return inference(s.p); }},
    entry{.name = "seq1f1b",
          .summary = "1F1B over chunks of sequences, backward in reverse",
          .source = "Sun et al., Seq1F1B, 2024",
          .block_of = [](shape const& s) { return seq1f1b(s.p, s.sequence_chunks); },
          .schedule_of =
              [](shape const& s) {
                return seq1f1b(s.p, s.sequence_chunks)
                       | repeat(micro_batches{s.m.value * s.sequence_chunks}) | squeeze();
              },
          .check = check_sequence_chunks,
          .parameters = parameters_of({parameter::sequence_chunk_count})},
    entry{.name = "seq1f1b-interleaved",
          .summary = "interleaved 1F1B over chunks of sequences, backward in reverse",
          .source = "Sun et al., Seq1F1B, 2024",
          .schedule_of = [](shape const& s) { return interleaved_seq1f1b(s) | squeeze(); },
          .check = check_interleaved_sequences,
          .placed = placement_kind::looped,
          .parameters = parameters_of({parameter::chunk_count, parameter::sequence_chunk_count})},
};

// Whether an entry has that name.
constexpr bool is_named(entry const& e, list_view<char> name) {
  std::size_t same = 0;
  while (same < name.size() && e.name[same] != '\0' && e.name[same] == name[same]) ++same;
  return same == name.size() && e.name[same] == '\0';
}

// The characters of a string literal or the like.
constexpr list_view<char> characters(char const* text) {
  char const* end = text;
  while (*end != '\0') ++end;
  return {text, end};
}

// The entry of that name, or null. The name is a std::string, a std::string_view or the like.
constexpr entry const* find(list_view<char> name) {
  for (entry const& e : entries)
    if (is_named(e, name)) return &e;
  return nullptr;
}
constexpr entry const* find(char const* name) { return find(characters(name)); }

}  // namespace ashlar::catalog
