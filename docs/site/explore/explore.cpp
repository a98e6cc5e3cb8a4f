// The algebra, the catalog and the search for the page that explores schedules, compiled to WebAssembly
// by build.py. The page says what both schedules are, and asks for its picture: html() of the one or of
// both.
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/render/html.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/search/search.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <typeinfo>

namespace {

using namespace ashlar;

// The settings of the page: sizes and costs for both schedules, and which schedules. The choices behind
// those of the catalog are searches, one for each placement. Costs are those of a p-th of the model, so
// that two schedules run the same model.
struct setting {
  std::array<int, 2> choices{};
  int devices = 4, micro_batches = 8, chunks = 2, limit = 4;
  stage_cost cost{};
  tick transfer = 0;
};
setting set;
bool both = false;
std::string text;  // what was asked for last

constexpr int published = static_cast<int>(catalog::all_entries.size());
constexpr std::array searches{"linear", "looped", "v"};
constexpr std::int64_t evaluations = 300;

bool is_published(int choice) { return choice < published; }

catalog::entry const& entry_of(int choice) {
  return *catalog::all_entries[static_cast<std::size_t>(choice)];
}

std::string name_of(int choice) {
  if (is_published(choice)) return entry_of(choice).name;
  return std::string("searched, ") + searches[static_cast<std::size_t>(choice - published)];
}

placement where(int choice) {
  devices const p{set.devices};
  int const which = choice - published;
  return which == 0 ? linear(p) : which == 1 ? looped(p, chunks{set.chunks}) : v_shape(p);
}

schedule published_schedule(int choice, costs const& cost) {
  return entry_of(choice).make({.p = devices{set.devices},
                                .m = micro_batches{set.micro_batches},
                                .cost = cost,
                                .v = chunks{set.chunks}});
}

int stages_of(int choice) {
  return is_published(choice) ? published_schedule(choice, {}).stage_count()
                              : where(choice).stage_count();
}

// Ticks in a unit of the sliders: as many as all shown schedules need for whole costs of their stages.
tick ticks_of_a_unit() {
  tick ticks = 1;
  for (std::size_t which = 0; which < (both ? 2u : 1u); ++which) {
    tick const stages = stages_of(set.choices[which]);
    ticks = std::lcm(ticks, stages / std::gcd(stages, tick{set.devices}));
  }
  return ticks;
}

// The costs of a stage, in ticks.
stage_cost cost_of(int choice) {
  tick const times = ticks_of_a_unit() * set.devices, stages = stages_of(choice);
  return {set.cost.forward * times / stages, set.cost.backward_input * times / stages,
          set.cost.backward_weight * times / stages};
}

tick transfer_ticks() { return set.transfer * ticks_of_a_unit(); }

schedule made(int choice) {
  costs const cost(cost_of(choice), transfer_ticks());
  if (is_published(choice)) return published_schedule(choice, cost);
  search_problem const problem{where(choice), micro_batches{set.micro_batches}, cost,
                               chunk_activations(set.limit)};
  std::int64_t const passes = std::int64_t{3} * set.micro_batches * problem.where.stage_count();
  return search(problem, {.passes = evaluations * passes, .aim = objective::span}).best;
}

}  // namespace

// Ends the call with an error of the page's that has these words.
extern "C" __attribute__((import_module("page"), import_name("refuse"), noreturn)) void page_refuses(
    char const* words);

// There is no unwinding in WebAssembly: what is thrown goes to the page.
extern "C" void* __cxa_allocate_exception(std::size_t bytes) { return ::operator new(bytes); }
extern "C" void __cxa_free_exception(void* thrown) { ::operator delete(thrown); }
extern "C" [[noreturn]] void __cxa_throw(void* thrown, std::type_info* type, void (*)(void*)) {
  text = *type == typeid(violation) ? explain(static_cast<violation*>(thrown)->why)
                                    : std::string("out of memory");
  page_refuses(text.c_str());
}

#define ASHLAR_PAGE(name) extern "C" __attribute__((export_name(#name)))

ASHLAR_PAGE(names) char const* names() {
  text.clear();
  for (int i = 0; i < published + static_cast<int>(searches.size()); ++i)
    text += (i == 0 ? "" : "\n") + name_of(i);
  return text.c_str();
}

// `other` is -1 where one schedule is shown.
ASHLAR_PAGE(choose)
void choose(int one, int other, int p, int m, int chunks, int limit, int forward, int input, int weight,
            int transfer) {
  both = other >= 0;
  set = {{one, both ? other : 0}, p, m, chunks, limit, {forward, input, weight}, transfer};
}

// The page of the first, or of both.
ASHLAR_PAGE(picture) char const* picture() {
  std::string const name = name_of(set.choices[0]), other = name_of(set.choices[1]);
  auto const number = [](tick t) { return std::to_string(t); };
  std::string const title = (both ? name + " and " + other : name)
                            + ": a device's share of the model takes " + number(set.cost.forward) + " + "
                            + number(set.cost.backward_input) + " + " + number(set.cost.backward_weight);
  html_options options{
      .title = title, .name = name, .other_name = other, .unit = {ticks_of_a_unit(), "units"}};
  text = both ? html(made(set.choices[0]), made(set.choices[1]), options)
              : html(made(set.choices[0]), options);
  return text.c_str();
}

// The command that gives the same, with costs of a stage.
ASHLAR_PAGE(command) char const* command(int which) {
  int const choice = set.choices[which == 0 ? 0 : 1];
  auto const with = [](char const* option, std::int64_t value) {
    return std::string(" ") + option + " " + std::to_string(value);
  };
  std::string const sizes = with("-p", set.devices) + with("-m", set.micro_batches);
  bool const has_chunks =
      is_published(choice) ? entry_of(choice).uses(parameter::chunk_count) : choice == published + 1;
  text = is_published(choice) ? "ashlar show " + name_of(choice) + sizes
                              : std::string("ashlar search --placement ")
                                    + searches[static_cast<std::size_t>(choice - published)] + sizes
                                    + with("--limit", set.limit) + with("--budget", evaluations);
  if (has_chunks) text += with("-v", set.chunks);
  stage_cost const cost = cost_of(choice);
  text += with("--forward", cost.forward) + with("--backward-input", cost.backward_input)
          + with("--backward-weight", cost.backward_weight) + with("--transfer", transfer_ticks());
  return text.c_str();
}
