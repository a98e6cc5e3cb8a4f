#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/step/calibrate.hpp>
#include <ashlar/cost/step/step.hpp>

#include <cmath>
#include <cstddef>

namespace ashlar::cost {

namespace calibrate_detail {

inline constexpr double pull = 0.6, linear_beyond = 0.04, expected = 0.07;
inline constexpr double few = 10;  // runs; each run of a smaller set weighs as much as in this one
inline constexpr int folds = 5;

// Shares, fitted as logarithms.
inline constexpr std::array free_constants{&constants::products_ampere_16,
                                           &constants::products_hopper_16,
                                           &constants::products_hopper_8,
                                           &constants::products_hopper_32,
                                           &constants::products_blackwell_16,
                                           &constants::products_blackwell_8,
                                           &constants::products_blackwell_4,
                                           &constants::products_ultra_16,
                                           &constants::products_ultra_8,
                                           &constants::products_ultra_4,
                                           &constants::attention_ampere,
                                           &constants::attention_hopper,
                                           &constants::attention_hopper_flash,
                                           &constants::attention_hopper_triton,
                                           &constants::attention_blackwell,
                                           &constants::memory,
                                           &constants::link_outside,
                                           &constants::link_inside,
                                           &constants::tensor_exposed,
                                           &constants::tensor_exposed_tuned,
                                           &constants::data_exposed};
inline constexpr std::size_t count = free_constants.size();

using point = std::array<double, count>;

class fitter {
 public:
  fitter(std::vector<question> const& runs, std::vector<double> const& measured, constants const& start)
      : runs_(runs), measured_(measured), start_(start) {
    for (question const& q : runs) {
      check(q);
      stages_.push_back(stages_of(q));
    }
    for (std::size_t i = 0; i < count; ++i) centre_[i] = std::log(start.*free_constants[i]);
  }

  constants at(point const& x) const {
    constants c = start_;
    for (std::size_t i = 0; i < count; ++i) c.*free_constants[i] = std::exp(x[i]);
    return c;
  }
  double ratio(std::size_t run, constants const& c) const {
    return step_of(runs_[run], stages_[run], c).seconds / measured_[run];
  }

  // Uses the runs with a nonzero use[run].
  constants fit(std::vector<char> const& use) const {
    point x = centre_;
    double best = loss(x, use);
    for (int round = 0; round < 30; ++round) {
      point const step = newton_step(x, use);
      bool is_better = false;
      for (double part = 1; part > 1e-3 && !is_better; part /= 2) {
        point next = x;
        for (std::size_t i = 0; i < count; ++i)
          next[i] = min_of(x[i] + part * step[i], 0.0);  // no share is above 1
        double const found = loss(next, use);
        if (found >= best * (1 - 1e-9)) continue;
        x = next;
        best = found;
        is_better = true;
      }
      if (!is_better) break;
    }
    return at(x);
  }

 private:
  double weight(std::vector<char> const& use) const {
    double n = 0;
    for (char each : use) n += each != 0 ? 1 : 0;
    return 9 / (max_of(n, few) * expected);
  }
  static double robust(double error) {
    double const size = error < 0 ? -error : error;
    double const is = std::sqrt(2 * linear_beyond * size - linear_beyond * linear_beyond);
    return size < linear_beyond ? error : error < 0 ? -is : is;
  }
  double residual(std::size_t run, constants const& c) const { return robust(std::log(ratio(run, c))); }
  double loss(point const& x, std::vector<char> const& use) const {
    constants const c = at(x);
    double sum = 0;
    for (std::size_t run = 0; run < runs_.size(); ++run)
      if (use[run] != 0) sum += residual(run, c) * residual(run, c);
    sum *= weight(use);
    for (std::size_t i = 0; i < count; ++i)
      sum += pull * pull * (x[i] - centre_[i]) * (x[i] - centre_[i]);
    return sum;
  }

  // A Gauss-Newton step: (J'J + pull^2) step = -J'r - pull^2 (x - centre). Never singular.
  point newton_step(point const& x, std::vector<char> const& use) const {
    constexpr double little = 1e-4;
    std::array<point, count> left{};
    point right{};
    constants const here = at(x);
    double const w = weight(use);
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      if (use[run] == 0) continue;
      double const r = residual(run, here);
      point slope{};
      for (std::size_t i = 0; i < count; ++i) {
        constants moved = here;
        moved.*free_constants[i] *= 1 + little;
        slope[i] = (residual(run, moved) - r) / little;
      }
      for (std::size_t i = 0; i < count; ++i) {
        right[i] -= w * slope[i] * r;
        for (std::size_t j = 0; j < count; ++j) left[i][j] += w * slope[i] * slope[j];
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      left[i][i] += pull * pull;
      right[i] -= pull * pull * (x[i] - centre_[i]);
    }
    return solve(left, right);
  }

  // The matrix is positive definite, so no rows need to be exchanged.
  static point solve(std::array<point, count> left, point right) {
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t row = i + 1; row < count; ++row) {
        double const times = left[row][i] / left[i][i];
        for (std::size_t j = i; j < count; ++j) left[row][j] -= times * left[i][j];
        right[row] -= times * right[i];
      }
    for (std::size_t i = count; i-- > 0;) {
      for (std::size_t j = i + 1; j < count; ++j) right[i] -= left[i][j] * right[j];
      right[i] /= left[i][i];
    }
    return right;
  }

  std::vector<question> const& runs_;
  std::vector<double> const& measured_;
  constants start_;
  std::vector<std::vector<stage>> stages_;
  point centre_{};
};

}  // namespace calibrate_detail

calibration calibrate(std::vector<question> const& runs, std::vector<double> const& measured,
                      constants const& start) {
  check(start);
  auto const given = static_cast<long long>(runs.size());
  long long found = 0;
  for (double seconds : measured) found += seconds > 0 && seconds < 1e30 ? 1 : 0;
  if (found != given || measured.size() != runs.size())
    throw unpredictable(requirement::every_run_is_measured, given, found);
  calibrate_detail::fitter const f(runs, measured, start);
  std::vector<char> use(runs.size(), 1);
  calibration made;
  made.fitted = f.fit(use);
  for (std::size_t run = 0; run < runs.size(); ++run) {
    made.before.push_back(f.ratio(run, start));
    made.after.push_back(f.ratio(run, made.fitted));
  }
  constexpr std::size_t folds = calibrate_detail::folds;
  if (runs.size() < 2 * folds) return made;
  made.left_out = made.after;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    for (std::size_t run = 0; run < runs.size(); ++run) use[run] = run % folds != fold ? 1 : 0;
    constants const c = f.fit(use);
    for (std::size_t run = fold; run < runs.size(); run += folds) made.left_out[run] = f.ratio(run, c);
  }
  return made;
}

}  // namespace ashlar::cost
