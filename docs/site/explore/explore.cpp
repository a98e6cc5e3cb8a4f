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
#include <string>
#include <typeinfo>

namespace {

using namespace ashlar;

// What a side of the page shows. The choices behind those of the catalog are searches, one for each
// placement.
struct side {
  int choice = 0, devices = 4, micro_batches = 8, chunks = 2, limit = 4;
  stage_cost cost{};
  tick transfer = 0;
};
std::array<side, 2> sides;
std::string text;  // what was asked for last

constexpr int published = static_cast<int>(catalog::all_entries.size());
constexpr std::array searches{"linear", "looped", "v"};
constexpr std::int64_t evaluations = 300;

std::string name_of(side const& s) {
  if (s.choice < published) return catalog::all_entries[static_cast<std::size_t>(s.choice)]->name;
  return std::string("searched, ") + searches[static_cast<std::size_t>(s.choice - published)];
}

placement where(side const& s) {
  devices const p{s.devices};
  int const which = s.choice - published;
  return which == 0 ? linear(p) : which == 1 ? looped(p, chunks{s.chunks}) : v_shape(p);
}

schedule made(side const& s) {
  costs const cost(s.cost, s.transfer);
  if (s.choice < published)
    return catalog::all_entries[static_cast<std::size_t>(s.choice)]->make(
        {.p = devices{s.devices},
         .m = micro_batches{s.micro_batches},
         .cost = cost,
         .v = chunks{s.chunks}});
  search_problem const problem{where(s), micro_batches{s.micro_batches}, cost,
                               chunk_activations(s.limit)};
  std::int64_t const passes = std::int64_t{3} * s.micro_batches * problem.where.stage_count();
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
    text += (i == 0 ? "" : "\n") + name_of({.choice = i});
  return text.c_str();
}

ASHLAR_PAGE(choose)
void choose(int which, int choice, int p, int m, int chunks, int limit, int forward, int input,
            int weight, int transfer) {
  sides[which == 0 ? 0 : 1] = {choice, p, m, chunks, limit, {forward, input, weight}, transfer};
}

// The page of the first, or of both.
ASHLAR_PAGE(picture) char const* picture(int both) {
  std::string const name = name_of(sides[0]), other = name_of(sides[1]);
  html_options options{.title = "Schedules", .name = name, .other_name = other};
  text = both != 0 ? html(made(sides[0]), made(sides[1]), options) : html(made(sides[0]), options);
  return text.c_str();
}

// What says the same on the command line.
ASHLAR_PAGE(command) char const* command(int which) {
  side const& s = sides[which == 0 ? 0 : 1];
  auto const with = [](char const* option, std::int64_t value) {
    return std::string(" ") + option + " " + std::to_string(value);
  };
  std::string const sizes = with("-p", s.devices) + with("-m", s.micro_batches);
  bool const is_published = s.choice < published;
  bool const has_chunks =
      is_published
          ? catalog::all_entries[static_cast<std::size_t>(s.choice)]->uses(parameter::chunk_count)
          : s.choice == published + 1;
  text = is_published ? "ashlar show " + name_of(s) + sizes
                      : std::string("ashlar search --placement ")
                            + searches[static_cast<std::size_t>(s.choice - published)] + sizes
                            + with("--limit", s.limit) + with("--budget", evaluations);
  if (has_chunks) text += with("-v", s.chunks);
  text += with("--forward", s.cost.forward) + with("--backward-input", s.cost.backward_input)
          + with("--backward-weight", s.cost.backward_weight) + with("--transfer", s.transfer);
  return text.c_str();
}
