// A reference for kernels of attention.
#pragma once

#include <gpt_cuda/kernels/attention.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace gpt_cuda_test {

using gpt_cuda::attention_shape;

// Attention by its definition: all scores, their softmax, and the gradients of both. It also says how
// far off a kernel may be that rounds weights and slopes before it sums over them, and what it writes,
// in units of the relative error of rounding: |x| for everything rounded, times what it is multiplied by
// afterwards.
struct plain_attention {
  attention_shape of;
  std::vector<double> qkv, merged, exponent, dqkv, merged_off, dqkv_off;

  plain_attention(attention_shape const& s, std::vector<double> given)
      : of(s),
        qkv(std::move(given)),
        merged(qkv.size() / 3, 0.0),
        dqkv(qkv.size(), 0.0),
        merged_off(merged),
        dqkv_off(dqkv) {
    each_row([&](int sequence, int head, int query) {
      std::vector<double> const w = weights(sequence, head, query);
      for (int d = 0; d < of.head_width; ++d) {
        std::size_t const to = at(1, 0, sequence, head, query, d);
        for (std::size_t key = 0; key < w.size(); ++key) {
          double const v = qkv[at(3, 2, sequence, head, static_cast<int>(key), d)];
          merged[to] += w[key] * v;
          merged_off[to] += w[key] * std::abs(v);
        }
        merged_off[to] += std::abs(merged[to]);
      }
    });
  }

  void backward(std::vector<double> const& up) {
    each_row([&](int sequence, int head, int query) {
      std::vector<double> const w = weights(sequence, head, query);
      std::vector<double> dweights;
      double along = 0, along_off = 0;  // do o, where o is what was written
      for (int d = 0; d < of.head_width; ++d) {
        std::size_t const to = at(1, 0, sequence, head, query, d);
        along_off += std::abs(up[to]) * merged_off[to];
      }
      for (int key = 0; key <= query; ++key) {
        double sum = 0;
        for (int d = 0; d < of.head_width; ++d) {
          double const u = up[at(1, 0, sequence, head, query, d)];
          sum += u * qkv[at(3, 2, sequence, head, key, d)];
          add(at(3, 2, sequence, head, key, d), w[dweights.size()] * u, w[dweights.size()], u);
        }
        along += w[dweights.size()] * sum;
        dweights.push_back(sum);
      }
      for (int key = 0; key <= query; ++key) {
        auto const k = static_cast<std::size_t>(key);
        double const slope = w[k] * (dweights[k] - along) * scale();
        double const off = std::abs(slope) + w[k] * along_off * scale();
        for (int d = 0; d < of.head_width; ++d) {
          std::size_t const q_at = at(3, 0, sequence, head, query, d),
                            k_at = at(3, 1, sequence, head, key, d);
          add(q_at, slope * qkv[k_at], off, qkv[k_at]);
          add(k_at, slope * qkv[q_at], off, qkv[q_at]);
        }
      }
    });
    for (std::size_t i = 0; i < dqkv.size(); ++i) dqkv_off[i] += std::abs(dqkv[i]);
  }

 private:
  double scale() const { return 1 / std::sqrt(static_cast<double>(of.head_width)); }
  std::size_t at(int parts, int part, int sequence, int head, int row, int d) const {
    int const width = of.heads * of.head_width;
    return static_cast<std::size_t>((sequence * of.context + row) * parts * width + part * width
                                    + head * of.head_width + d);
  }
  void add(std::size_t to, double what, double off, double times) {
    dqkv[to] += what;
    dqkv_off[to] += off * std::abs(times);
  }
  template <class Act>
  void each_row(Act act) {
    exponent.clear();
    for (int sequence = 0; sequence < of.sequences; ++sequence)
      for (int head = 0; head < of.heads; ++head)
        for (int query = 0; query < of.context; ++query) act(sequence, head, query);
  }
  std::vector<double> weights(int sequence, int head, int query) {
    std::vector<double> scores;
    for (int key = 0; key <= query; ++key) {
      double sum = 0;
      for (int d = 0; d < of.head_width; ++d)
        sum += qkv[at(3, 0, sequence, head, query, d)] * qkv[at(3, 1, sequence, head, key, d)];
      scores.push_back(sum * scale());
    }
    double const top = *std::max_element(scores.begin(), scores.end());
    double mass = 0;
    for (double const s : scores) mass += std::exp(s - top);
    exponent.push_back(top + std::log(mass));
    for (double& s : scores) s = std::exp(s - exponent.back());
    return scores;
  }
};

}  // namespace gpt_cuda_test
