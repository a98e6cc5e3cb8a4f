// Definitions of program_certificate.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/program_certificate.hpp>
#include <ashlar/program/issue_order.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/render/json_text.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

namespace interop_detail {

// The name of a kind of slots, as a key.
inline std::string key_of(slot_kind kind) {
  std::string key = name_of(kind);
  for (char& each : key)
    if (each == ' ') each = '_';
  return key;
}

// Writes lists within lists.
class list_writer {
 public:
  explicit list_writer(std::string& text) : text_(text) {}

  void open() {
    comma();
    text_ += '[';
    is_first_ = true;
  }
  void close() {
    text_ += ']';
    is_first_ = false;
  }
  void number(int value) { raw(std::to_string(value)); }
  void word(std::string_view value) { raw("\"" + std::string(value) + "\""); }
  void raw(std::string_view value) {
    comma();
    text_ += value;
  }
  void line() {
    comma();
    text_ += '\n';
    is_first_ = true;
  }
  template <class Numbers>
  void numbers(Numbers const& all) {
    open();
    for (int const one : all) number(one);
    close();
  }

 private:
  void comma() {
    if (!is_first_) text_ += ',';
    is_first_ = false;
  }

  std::string& text_;
  bool is_first_ = true;
};

class certificate_writer {
 public:
  certificate_writer(program const& p, std::string& text) : p_(p), view_(p.view()), text_(text) {}

  void write(std::string_view name) {
    text_ += "{\"certificate\":\"program\",\"schedule\":\"" + render_detail::escape_json(name) + "\"";
    list("placement", [&](list_writer& out) {
      for (int route = 0; route < p_.where.route_count(); ++route) {
        out.open();
        for (int stage = 0; stage < p_.stage_count(); ++stage)
          out.number(p_.where.device_of(route, stage));
        out.close();
      }
    });
    list("route", [&](list_writer& out) {
      for (int const route : p_.route) out.number(route);
    });
    text_ += std::string(",\"training\":") + (p_.mode == execution_mode::training ? "true" : "false");
    if (p_.data_ranks > 1) text_ += ",\"data_ranks\":" + std::to_string(p_.data_ranks);
    if (p_.sharding != sharding_level::none) text_ += ",\"sharded\":true";
    if (p_.graph.has_shards()) {
      list("shards", [&](list_writer& out) { write_shards(out); });
      if (p_.graph.gradients() == shard_gradient::of_forward)
        text_ += ",\"shard_gradients\":\"of_forward\"";
    }
    if (!is_chain(p_.graph)) list("stage_edges", [&](list_writer& out) { write_edges(out); });
    if (p_.graph.sequence_chunks() > 1)
      text_ += ",\"sequence_chunks\":" + std::to_string(p_.graph.sequence_chunks());
    list("slots", [&](list_writer& out) {
      for (int d = 0; d < p_.device_count(); ++d) {
        out.open();
        for (slot_kind const kind : view_.slots_of(d)) out.word(key_of(kind));
        out.close();
      }
    });
    list("streams", [&](list_writer& out) { write_streams(out); });
    list("sums", [&](list_writer& out) { write_sums(out); });
    list("peaks", [&](list_writer& out) {
      for (int d = 0; d < p_.device_count(); ++d) out.raw(peaks_of(d));
    });
    text_ += "}";
  }

 private:
  static constexpr std::size_t index(int i) { return static_cast<std::size_t>(i); }

  template <class Write>
  void list(char const* key, Write write) {
    text_ += std::string(",\"") + key + "\":";
    list_writer out(text_);
    out.open();
    write(out);
    out.close();
  }

  void write_edges(list_writer& out) const {
    for (int stage = 0; stage < p_.stage_count(); ++stage)
      for (int const after : p_.graph.successors(stage)) out.numbers(std::vector<int>{stage, after});
  }

  void write_shards(list_writer& out) const {
    for (int stage = 0; stage < p_.stage_count(); ++stage) {
      auto const shards = p_.graph.shards_with(stage);
      if (!shards.empty() && shards[0] == stage) out.numbers(shards);
    }
  }

  void write_streams(list_writer& out) const {
    rendezvous_list const order = rendezvous_order(view_);
    std::vector<int> turn(p_.instructions.size(), 0);
    for (int r = 0; r < order.size(); ++r)
      for (int const i : order.of(r)) turn[index(i)] = r;
    for (int d = 0; d < p_.device_count(); ++d) {
      out.open();
      for (int i = stream_begin(p_, d); i < stream_end(p_, d); ++i) {
        out.line();
        write_instruction(out, p_.instructions[index(i)], turn[index(i)]);
      }
      out.close();
    }
  }

  void write_instruction(list_writer& out, instruction const& i, int turn) const {
    out.open();
    out.number(turn);
    switch (i.code) {
      case opcode::compute: {
        char const name[] = {letter_of(i.what.kind), i.overlaps_next ? '+' : '\0', '\0'};
        out.word(name);
        out.number(i.what.stage);
        out.number(i.what.micro_batch);
        break;
      }
      case opcode::send:
      case opcode::receive:
        out.word(i.code == opcode::send ? "send" : "receive");
        for (int const n : {i.lane, i.what.stage, i.what.micro_batch, i.to, i.peer}) out.number(n);
        break;
      default:
        out.word(name_on_stage(i));
        out.number(i.lane);
        out.number(i.group);
    }
    for (operand const& o : view_.operands_of(i)) out.number(o.slot);
    out.close();
  }

  // The name of what happens to a stage's gradient or weights.
  static char const* name_on_stage(instruction const& i) {
    bool const of_shard = i.subject == slot_kind::gradient_shard;
    switch (i.code) {
      case opcode::clear:
        return of_shard ? "clear_shard" : "clear";
      case opcode::all_reduce:
        return of_shard ? "reduce_shard" : "reduce";
      case opcode::all_gather:
        return "gather";
      case opcode::release:
        return "release";
      default:
        return "scatter";
    }
  }

  // By device and stage: the micro-batches in the order in which their gradients are added.
  void write_sums(list_writer& out) const {
    for (int d = 0; d < p_.device_count(); ++d) {
      std::vector<std::vector<int>> added(index(p_.stage_count()));
      for (instruction const& i : view_.stream(d))
        if (i.code == opcode::compute && gives_weight_gradient(i.what.kind))
          added[index(i.what.stage)].push_back(i.what.micro_batch);
      for (int stage = 0; stage < p_.stage_count(); ++stage) {
        std::vector<int>& of = added[index(stage)];
        if (of.empty()) continue;
        of.insert(of.begin(), {d, stage});
        out.line();
        out.numbers(of);
      }
    }
  }

  // By kind of slots: the most in use at once, in the order of the stream, and the first instruction at
  // which they are. A slot is in use from a write until the last instruction that uses what was written.
  std::string peaks_of(int device) const {
    list_view<instruction> const stream = view_.stream(device);
    list_view<slot_kind> const kinds = view_.slots_of(device);
    std::vector<int> since(kinds.size(), -1), until(kinds.size(), -1);
    std::vector<std::vector<int>> change(slot_kinds);
    for (slot_kind const kind : kinds) change[static_cast<std::size_t>(kind)].resize(stream.size() + 1);
    auto const close = [&](std::size_t slot) {
      if (since[slot] < 0) return;
      std::vector<int>& of = change[static_cast<std::size_t>(kinds[slot])];
      ++of[index(since[slot])];
      --of[index(until[slot]) + 1];
    };
    int at = 0;
    for (instruction const& i : stream) {
      for (operand const& o : view_.operands_of(i)) {
        std::size_t const slot = index(o.slot);
        if (o.how == access::write || o.how == access::scratch) {
          close(slot);
          since[slot] = at;
        }
        until[slot] = at;
      }
      ++at;
    }
    for (std::size_t slot = 0; slot < kinds.size(); ++slot) close(slot);
    std::string text;
    for (std::size_t kind = 0; kind < change.size(); ++kind) {
      if (change[kind].empty()) continue;
      int now = 0, most = 0, first = 0;
      for (std::size_t n = 0; n < change[kind].size(); ++n) {
        now += change[kind][n];
        if (now <= most) continue;
        most = now;
        first = static_cast<int>(n);
      }
      text += std::string(text.empty() ? "{\"" : ",\"") + key_of(static_cast<slot_kind>(kind)) + "\":["
              + std::to_string(most) + "," + std::to_string(first) + "]";
    }
    return text.empty() ? "{}" : text + "}";
  }

  program const& p_;
  program_view view_;
  std::string& text_;
};

}  // namespace interop_detail

ASHLAR_INLINE std::string certificate_obstacle(program const& p) {
  if (p.groups.count() > p.stage_count()) return "stages share parameters";
  if (p.step != optimizer_step::none) return "it has the optimizer's step";
  if (p.offloads) return "it copies to the host";
  if (p.where.moves()) return "backwards run on other devices than forwards";
  if (!p.work.empty()) return "it has work beside the passes";
  if (p.graph.has_shards() && p.mode != execution_mode::training)
    return "shards of a layer run forwards alone";
  if (p.graph.has_sizes()) return "stages take micro-batches of different sizes";
  return {};
}

ASHLAR_INLINE std::string program_certificate(program const& p, std::string_view name) {
  std::string text;
  interop_detail::certificate_writer(p, text).write(name);
  return text;
}

}  // namespace ashlar
