// How long one device takes for jobs, each of which cannot start before its head and is followed by its
// tail.
#pragma once

#include <ashlar/bounds/earliest_starts.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ashlar::bounding_detail {

// Jobs alike but for their heads, which ascend, and tails, which descend. A job whose head is any_time
// is out of the way before 0; one whose tail is any_time has nothing to follow it.
struct job_list {
  std::vector<tick> head, tail;
  tick length = 0;
};

// The least time from 0 to the end of the last tail if jobs may be interrupted: always run the job with
// the longest tail of those there are (Jackson's rule; Carlier, The One-Machine Sequencing Problem,
// 1982). No schedule of whole jobs is shorter. O(jobs * log(lists)): of each list only the next job
// counts, which has come before all others of it and has the longest tail of them.
constexpr tick one_machine(std::vector<job_list> const& lists) {
  struct progress {
    std::size_t next = 0;
    tick left = 0;  // of the next job
  };
  std::vector<progress> at(lists.size(), progress{});
  auto const head = [&](std::size_t i) { return lists[i].head[at[i].next]; };
  auto const tail = [&](std::size_t i) { return lists[i].tail[at[i].next]; };
  // Lists whose next job is still to come, the earliest on top; and the others, the longest tail on top.
  auto const comes_later = [&](std::size_t a, std::size_t b) { return head(a) > head(b); };
  auto const is_shorter = [&](std::size_t a, std::size_t b) { return tail(a) < tail(b); };
  std::vector<std::size_t> coming, here;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    at[i].left = lists[i].length;
    while (at[i].next < lists[i].head.size() && lists[i].head[at[i].next] == any_time) ++at[i].next;
    if (at[i].next == lists[i].head.size()) continue;
    coming.push_back(i);
    std::push_heap(coming.begin(), coming.end(), comes_later);
  }
  tick now = 0, latest = 0;
  while (!coming.empty() || !here.empty()) {
    if (here.empty()) now = later(now, head(coming.front()));
    while (!coming.empty() && head(coming.front()) <= now) {
      std::pop_heap(coming.begin(), coming.end(), comes_later);
      here.push_back(coming.back());
      coming.pop_back();
      std::push_heap(here.begin(), here.end(), is_shorter);
    }
    tick const arrival = coming.empty() ? max_tick : head(coming.front());
    std::size_t const pick = here.front();
    progress& running = at[pick];
    tick const run = arrival - now < running.left ? arrival - now : running.left;
    now += run;
    running.left -= run;
    if (running.left > 0) continue;
    latest = later(latest, after(tail(pick), now));
    std::pop_heap(here.begin(), here.end(), is_shorter);
    here.pop_back();
    ++running.next;
    running.left = lists[pick].length;
    if (running.next == lists[pick].head.size()) continue;
    coming.push_back(pick);
    std::push_heap(coming.begin(), coming.end(), comes_later);
  }
  return latest;
}

// The time that a step takes on the longer chunks of a stage's sequences beyond the shortest, as one
// list per chunk. In any order of sequences, the r-th pass of a chunk comes after the same chunk of the
// r sequences before. Forward, it also comes after all earlier chunks of these sequences and of its
// own; backward, after all later ones. The same holds from the end. That many starts of the stage lie
// before and after it.
constexpr void add_longer_chunks(std::vector<job_list>& lists, flow const& f, int k, int stage,
                                 earliest_starts const& forth, earliest_starts const& back) {
  int const q = f.sequence_chunks, n = f.micro_batches_of(stage) / q, mirrored = f.step_count() - 1 - k;
  for (int chunk = 0; chunk < q; ++chunk) {
    tick const extra = f.extra(k, stage, chunk);
    if (extra == 0) continue;
    int before = 0, after = 0;  // of a sequence, those that come before or after the chunk for sure
    if (f.direction(k) != 0) {
      before = f.direction(k) > 0 ? chunk : q - 1 - chunk;
      after = q - 1 - before;
    }
    job_list longer{.head = {}, .tail = {}, .length = extra};
    for (int r = 0; r < n; ++r) {
      longer.head.push_back(forth.start(k, stage, (r + 1) * (before + 1) - 1));
      longer.tail.push_back(back.start(mirrored, stage, (n - r) * (after + 1) - 1));
    }
    lists.push_back(longer);
  }
}

// The jobs of a device. Its n-th step k is a job as long as the shortest of its stages takes; what a
// longer stage or chunk takes in addition is a job of its own, within that stage's heads and tails. So
// no stage's length is paired with a place that it may not have. `forth` and `back` are the starts in
// forward and in reversed time.
constexpr std::vector<job_list> jobs_of(flow const& f, int device, earliest_starts const& forth,
                                        earliest_starts const& back) {
  std::vector<job_list> lists;
  auto const backwards = [](std::vector<tick> const& list) {
    std::vector<tick> turned;
    turned.reserve(list.size());
    for (std::size_t i = list.size(); i > 0; --i) turned.push_back(list[i - 1]);
    return turned;
  };
  for (int k = 0; k < f.step_count(); ++k) {
    int const mirrored = f.step_count() - 1 - k;
    tick const least = f.least_length(k, device);
    lists.push_back({.head = forth.places(k, device),
                     .tail = backwards(back.places(mirrored, device)),
                     .length = least});
    for (int stage : f.on(device)) {
      add_longer_chunks(lists, f, k, stage, forth, back);
      // Which micro-batches are the longer ones is unknown: any may be the first or the last.
      if (tick const more = f.more(k, stage); more > 0)
        lists.push_back({.head = {forth.start(k, stage, 0)},
                         .tail = {back.start(mirrored, stage, 0)},
                         .length = more});
      if (f.length(k, stage) == least) continue;
      job_list excess{.head = {}, .tail = {}, .length = f.length(k, stage) - least};
      int const m = f.micro_batches_of(stage);
      for (int j = 0; j < m; ++j) {
        excess.head.push_back(forth.start(k, stage, j));
        excess.tail.push_back(back.start(mirrored, stage, m - 1 - j));
      }
      lists.push_back(excess);
    }
  }
  return lists;
}

}  // namespace ashlar::bounding_detail
