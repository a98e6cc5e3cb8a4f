#include "report/hang_report.hpp"

#include "report/counted.hpp"
#include "report/printed.hpp"
#include <ashlar/core/nth.hpp>
#include <ashlar/program/names.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <set>

namespace tool {

namespace {

class hang_text {
 public:
  hang_text(ashlar::hang const& why, ashlar::matched_record const& record,
            ashlar::recorded_passes const* passes)
      : why_(why), record_(record), passes_(passes) {}

  std::string beginning() const {
    std::size_t operations = 0, lost = 0;
    for (ashlar::rank_record const& rank : *record_.ranks) {
      operations += rank.operations.size();
      lost += rank.is_whole ? 0 : 1;
    }
    std::string text =
        fmt::format("{} with {} in {}\n", counted(static_cast<long long>(record_.ranks->size()), "rank"),
                    counted(static_cast<long long>(operations), "operation"),
                    counted(static_cast<long long>(record_.groups.size()), "group"));
    if (lost > 0)
      text += fmt::format("{} lost: what is said counts only operations that have not ended\n",
                          lost == 1 ? "the first operations of a rank are"
                                    : fmt::format("the first operations of {} ranks are", lost));
    return text;
  }

  std::string headline() const {
    switch (why_.kind) {
      case ashlar::hang_kind::none:
        return "";
      case ashlar::hang_kind::other_kind:
        return "ranks are in different operations of a group, whose order must be the same";
      case ashlar::hang_kind::other_size:
        return "ranks give an operation different sizes";
      case ashlar::hang_kind::other_dtype:
        return "ranks give an operation different element types";
      case ashlar::hang_kind::circle:
        return "operations wait for each other in a circle";
      case ashlar::hang_kind::no_record:
        return fmt::format("{} no record here, and others wait for {}", ranks("has", "have"),
                           why_.absent.size() == 1 ? "it" : "them");
      case ashlar::hang_kind::never_issued:
        return fmt::format("{} not issued what others wait for", ranks("has", "have"));
      case ashlar::hang_kind::waits_in_turn:
        return "each rank waits in an operation that the next one has not issued";
    }
    return "";
  }

  std::string chain() const {
    std::string text;
    bool const differ = why_.kind == ashlar::hang_kind::other_kind
                        || why_.kind == ashlar::hang_kind::other_size
                        || why_.kind == ashlar::hang_kind::other_dtype;
    for (ashlar::awaited_operation const& one : why_.chain) {
      text += operation(one.waiting);
      if (!differ) text += awaited(one);
    }
    return text;
  }

  // Known causes that the two operations that differ look like.
  std::string hints() const {
    std::string text;
    if (why_.chain.empty()) return text;
    if (why_.kind == ashlar::hang_kind::other_size && why_.chain.size() == 2) {
      bool const one = is_shape(why_.chain[0].waiting), other = is_shape(why_.chain[1].waiting);
      if (one != other)
        text += fmt::format(
            "  rank {} transfers a few integers, as messages of shapes are; rank {} does not "
            "expect one\n",
            rank(why_.chain[one ? 0 : 1].waiting), rank(why_.chain[one ? 1 : 0].waiting));
    }
    std::set<int> groups;
    for (ashlar::awaited_operation const& one : why_.chain) {
      ashlar::recorded_operation const& waits = record_.at(one.waiting);
      int const unit =
          ashlar::nth(ashlar::nth(record_.unit_of, one.waiting.record), one.waiting.operation);
      int const group = ashlar::nth(ashlar::nth(record_.units, one.waiting.record), unit).group;
      if (waits.backend == "gloo" || !groups.insert(group).second || !is_first(one.waiting)) continue;
      text += fmt::format(
          "  it is the first operation of rank {} with these ranks: a communicator that is made "
          "lazily is made here, and waits for all of them\n",
          rank(one.waiting));
    }
    return text;
  }

 private:
  std::string ranks(char const* one, char const* several) const {
    return why_.absent.size() == 1 ? fmt::format("rank {} {}", why_.absent[0], one)
                                   : fmt::format("ranks {} {}", fmt::join(why_.absent, ", "), several);
  }
  int rank(ashlar::recorded_place p) const { return ashlar::nth(*record_.ranks, p.record).rank; }

  ashlar::recorded_group const& group_of(ashlar::recorded_place p) const {
    return ashlar::nth(ashlar::nth(*record_.ranks, p.record).groups, record_.at(p).group);
  }

  std::string what(ashlar::recorded_place p) const {
    ashlar::recorded_operation const& one = record_.at(p);
    ashlar::recorded_group const& group = group_of(p);
    std::string text = printable(one.kind);
    if (one.kind == "send" || one.kind == "recv") {
      text = one.kind == "send" ? "send to " : "receive from ";
      bool const is_known = one.peer >= 0 && one.peer < static_cast<int>(group.ranks.size());
      text += is_known        ? fmt::format("rank {}", ashlar::nth(group.ranks, one.peer))
              : one.peer >= 0 ? fmt::format("rank {} of the group", one.peer)
                              : std::string("any rank");
    }
    return fmt::format("{} in group {}{}", text, printable(group.name),
                       group.description.empty() ? "" : " (" + printable(group.description) + ")");
  }

  static std::string sizes(ashlar::recorded_tensors const& all) {
    constexpr std::size_t most = 4;
    std::string text;
    for (std::size_t i = 0; i < all.sizes.size() && i < most; ++i) {
      text += fmt::format("{}[{}]", i == 0 ? "" : ", ", fmt::join(all.sizes[i], ", "));
      if (i < all.dtypes.size()) text += " " + printable(all.dtypes[i]);
    }
    if (all.sizes.size() > most) text += fmt::format(" and {} more", all.sizes.size() - most);
    return text;
  }

  std::string lines(ashlar::recorded_operation const& one) const {
    std::string text;
    for (ashlar::source_line const& line : one.lines)
      text += fmt::format("{}{}:{} in {}", text.empty() ? "    at " : ", called from ",
                          printable(std::filesystem::path(line.file).filename().string()), line.line,
                          printable(line.function));
    return text.empty() ? "" : text + "\n";
  }

  std::string made_by(ashlar::recorded_place p) const {
    if (passes_ == nullptr || passes_->of.empty()) return "";
    auto const& known = ashlar::nth(ashlar::nth(passes_->of, p.record), p.operation);
    if (!known) return "";
    return fmt::format("    what {}{}{} made: {} of stage {}, micro-batch {}, in step {}\n",
                       known->made.stage, ashlar::letter_of(known->made.kind), known->made.micro_batch,
                       ashlar::name_of(known->made.kind), known->made.stage, known->made.micro_batch,
                       known->step);
  }

  std::string operation(ashlar::recorded_place p) const {
    ashlar::recorded_operation const& one = record_.at(p);
    std::string text = fmt::format("  rank {}, operation {}: {}", rank(p), one.id, what(p));
    std::string const moved = sizes(one.inputs.sizes.empty() ? one.outputs : one.inputs);
    if (!moved.empty()) text += ": " + moved;
    int const unit = ashlar::nth(ashlar::nth(record_.unit_of, p.record), p.operation);
    ashlar::recorded_unit const& of = ashlar::nth(ashlar::nth(record_.units, p.record), unit);
    if (of.is_batch) text += fmt::format(", in a batch of {}", of.operations.size());
    return text + "\n" + made_by(p) + lines(one);
  }

  std::string awaited(ashlar::awaited_operation const& one) const {
    if (one.instead.record < 0)
      return fmt::format("    waits for rank {}, which has {}\n", one.rank,
                         record_has(one.rank) ? "issued nothing" : "no record");
    bool const is_end = why_.kind == ashlar::hang_kind::never_issued;
    ashlar::recorded_operation const& other = record_.at(one.instead);
    if (!is_end)
      return fmt::format("    waits for rank {}, which is in operation {}\n", one.rank, other.id);
    return fmt::format("    waits for rank {}, whose record ends with operation {}: {}\n{}", one.rank,
                       other.id, other.kind == "coalesced" ? "a batch" : what(one.instead),
                       lines(other));
  }
  bool record_has(int rank) const {
    for (ashlar::rank_record const& one : *record_.ranks)
      if (one.rank == rank) return true;
    return false;
  }

  bool is_shape(ashlar::recorded_place p) const {
    ashlar::recorded_operation const& one = record_.at(p);
    ashlar::recorded_tensors const& all = one.inputs.sizes.empty() ? one.outputs : one.inputs;
    if (all.sizes.size() != 1 || all.dtypes.size() != 1 || all.sizes[0].size() != 1) return false;
    return (all.dtypes[0] == "Long" || all.dtypes[0] == "Int") && all.sizes[0][0] <= 8;
  }

  // Whether it is the first of its communicator on its rank: the group's, or that of a pair.
  bool is_first(ashlar::recorded_place p) const {
    if (!ashlar::nth(*record_.ranks, p.record).is_whole) return false;
    int const unit = ashlar::nth(ashlar::nth(record_.unit_of, p.record), p.operation);
    int const lane = ashlar::nth(ashlar::nth(record_.units, p.record), unit).lane;
    return ashlar::nth(ashlar::nth(ashlar::nth(record_.lanes, p.record), lane), 0) == unit;
  }

  ashlar::hang const& why_;
  ashlar::matched_record const& record_;
  ashlar::recorded_passes const* passes_;
};

}  // namespace

std::string text_of(ashlar::hang const& why, ashlar::matched_record const& record,
                    ashlar::recorded_passes const* passes, recorded_run const& run) {
  hang_text const words(why, record, passes);
  std::string text = words.beginning();
  if (why.kind == ashlar::hang_kind::none) {
    text += "no hang: all operations can end\n";
    if (why.under_way > 0)
      text += fmt::format("{} under way\n", why.under_way == 1
                                                ? "an operation is"
                                                : fmt::format("{} operations are", why.under_way));
    return text;
  }
  bool const may_come = run.goes_on && !why.is_certain();
  text += fmt::format("{}: {}\n", may_come ? "no hang, if the run goes on" : "hang", words.headline());
  if (run.shares_lanes)
    text +=
        "  if all transfers of a group have one communicator, as in groups that are bound to a device\n";
  return text + words.chain() + words.hints();
}

}  // namespace tool
