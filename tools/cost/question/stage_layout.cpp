#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/question/layout_reader.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/question/stage_layout.hpp>

#include <algorithm>
#include <cstddef>

namespace ashlar::cost {

namespace stage_layout_detail {

// A division of blocks (embedding, layers, norm, head, loss) by their products: a stage ends with the
// block that passes its share.
struct division {
  std::vector<int> layers;
  int head_at = 0;
  int working = 0;  // stages with at least one block
};

inline division division_by_cost(architecture const& model, int count) {
  architecture const& a = model;
  double const head = a.head_parameters();
  double total = head, so_far = 0;
  for (int i = 0; i < a.layer_count(); ++i) total += layer_matrices(a, a.at(i), a.at(i).feed.chosen);
  division d;
  for (int s = 0; s < count; ++s) d.layers.push_back(0);
  int at = 0;
  for (int i = 0; i < a.layer_count() + 4; ++i) {
    int const beyond = i - a.layer_count();  // norm, head, cast, loss
    if (beyond < 0) {
      ++d.layers[static_cast<std::size_t>(at)];
      so_far += layer_matrices(a, a.at(i), a.at(i).feed.chosen);
    }
    if (beyond == 1) {
      d.head_at = at;
      so_far += head;
    }
    d.working = at + 1;
    if (so_far > total * (at + 1) / count) at = min_of(at + 1, count - 1);
  }
  return d;
}

// Divides as evenly as possible; the first stage gets none of the rest.
inline std::vector<int> even_division(int layers, int count) {
  std::vector<int> sizes;
  for (int s = 0; s < count; ++s) sizes.push_back(layers / count);
  for (int i = 0; i < layers % count; ++i) ++sizes[static_cast<std::size_t>((i + 1) % count)];
  return sizes;
}

inline void must(bool holds, requirement what, long long number = 0, long long limit = 0) {
  if (!holds) throw unpredictable(what, number, limit);
}

// Checks the order of the letters, without stage boundaries.
inline void check_order(std::vector<char> const& letters) {
  char last = 0;
  int embeddings = 0;
  bool predicts = false, is_over = false;
  for (char c : letters) {
    if (c == '|') continue;
    must(last != 0 || c == 'E', requirement::layout_begins_with_embedding);
    last = c;
    embeddings += c == 'E' ? 1 : 0;
    must(!(is_over && (c == 'E' || c == 't' || c == 'm')), requirement::layout_ends_with_loss);
    predicts = predicts || c == 'm';
    is_over = is_over || c == 'L';
    must(!(predicts && c == 't'), requirement::layout_predicts_last);
  }
  must(last != 0, requirement::layout_begins_with_embedding);
  must(embeddings == 1, requirement::layout_has_one_embedding, embeddings);
  must(last == 'L', requirement::layout_ends_with_loss);
}

// Checks that a layout's stages match this model and pipeline.
inline void check_own(question const& q, std::vector<stage> const& stages) {
  int const count = stage_count(q), layers = q.model.layer_count();
  auto const found = static_cast<long long>(stages.size());
  must(found == count, requirement::layout_has_every_stage, found, count);
  long long all = 0, predictions = 0, losses = 0, last = -1;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    all += stages[s].count;
    predictions += stages[s].predictions;
    losses += losses_of(q.model, stages[s]);
    if (stages[s].predictions > 0) last = static_cast<long long>(s);
  }
  must(all == layers, requirement::layout_has_every_layer, all, layers);
  must(predictions == q.model.predictions, requirement::layout_has_every_prediction, predictions,
       q.model.predictions);
  must(losses == 1 + predictions, requirement::layout_has_every_loss, losses, 1 + predictions);
  must(last < 0 || last >= found - q.layout.pipeline, requirement::layout_predicts_in_last_chunk, last,
       found - q.layout.pipeline);
}

}  // namespace stage_layout_detail

std::vector<stage> read_layout(std::string_view text, int predictions) {
  if (layout_reader_detail::is_list_of_counts(text)) {
    std::vector<stage> stages = layout_reader_detail::counts_reader(text).stages();
    stages.back().predictions = predictions;
    return stages;
  }
  std::vector<stage> stages(1);
  std::vector<char> const letters = layout_reader_detail::letters_reader(text).letters();
  stage_layout_detail::check_order(letters);
  bool const has_each_loss = std::count(letters.begin(), letters.end(), 'L') > 1;
  for (char c : letters) {
    stage& s = stages.back();
    if (c == 'E') s.has_embedding = true;
    if (c == 'L') s.has_head = true;
    if (c == 'L' && has_each_loss) ++s.losses;
    if (c == 't') ++s.count;
    if (c == 'm') ++s.predictions;
    if (c == '|') stages.push_back({.first = s.first + s.count, .streams = s.streams_after()});
  }
  return stages;
}

bool is_spread(std::vector<stage> const& stages) {
  int with_losses = 0, predicting = 0;
  for (stage const& s : stages) {
    with_losses += s.has_head ? 1 : 0;
    predicting += s.predictions > 0 ? 1 : 0;
  }
  return with_losses > 1 || predicting > 1;
}

std::vector<stage> stages_of(question const& q) {
  int const count = stage_count(q), layers = q.model.layer_count();
  if (!q.layout.stages.empty()) {
    stage_layout_detail::check_own(q, q.layout.stages);
    return q.layout.stages;
  }
  stage_layout_detail::division d;
  d.head_at = count - 1;
  bool const by_cost = stack_of(q).is_plain && count > 1;
  bool const counts_ends = q.layout.counts_ends && count > 1 && !by_cost;
  if (by_cost)
    d = stage_layout_detail::division_by_cost(q.model, count);
  else
    d.layers = stage_layout_detail::even_division(layers + (counts_ends ? 2 : 0), count);
  if (counts_ends) {
    // With fewer layers than stages, some have none to give.
    auto from_front = d.layers.begin(), from_back = d.layers.end() - 1;
    while (*from_front == 0) ++from_front;
    --*from_front;
    while (*from_back == 0) --from_back;
    --*from_back;
  }
  std::vector<stage> stages;
  int first = 0;
  for (int i = 0; i < count; ++i) {
    int const here = d.layers[static_cast<std::size_t>(i)];
    stages.push_back({.first = first,
                      .count = here,
                      .has_embedding = i == 0,
                      .has_head = i == d.head_at,
                      .predictions = i == count - 1 ? q.model.predictions : 0});
    first += here;
  }
  return stages;
}

bool every_stage_works(question const& q) {
  int const count = stage_count(q);
  if (!q.layout.stages.empty()) return true;
  if (stack_of(q).is_plain)
    return stage_layout_detail::division_by_cost(q.model, count).working >= count;
  return q.model.layer_count() + (q.model.has_tables() ? 2 : 0) >= count;
}

int last_with_head(std::vector<stage> const& stages) {
  std::size_t last = stages.size() - 1;
  for (std::size_t s = 0; s < stages.size(); ++s)
    if (stages[s].has_head) last = s;
  return static_cast<int>(last);
}

}  // namespace ashlar::cost
