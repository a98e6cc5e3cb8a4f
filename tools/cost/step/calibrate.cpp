#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/step/calibrate.hpp>
#include <ashlar/cost/step/step.hpp>

#include <cmath>
#include <cstddef>
#include <utility>

namespace ashlar::cost {

namespace calibrate_detail {

inline constexpr double expected = 0.04;  // standard deviation of errors; they count linearly beyond
inline constexpr double few = 10;         // runs that any larger number tells as much as
inline constexpr int folds = 5;

using values = std::vector<double>;

// A square matrix that is symmetric and positive definite.
struct matrix {
  std::size_t size;
  values of;

  explicit matrix(std::size_t n) : size(n), of(n * n, 0.0) {}
  double& at(std::size_t i, std::size_t j) { return of[i * size + j]; }
};

// Solves for several right sides at once; rows need no exchange. O(n^2 (n + sides)).
inline std::vector<values> solve(matrix left, std::vector<values> right) {
  std::size_t const n = left.size;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t row = i + 1; row < n; ++row) {
      double const times = left.at(row, i) / left.at(i, i);
      for (std::size_t j = i; j < n; ++j) left.at(row, j) -= times * left.at(i, j);
      for (values& side : right) side[row] -= times * side[i];
    }
  for (values& side : right)
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t j = i + 1; j < n; ++j) side[i] -= left.at(i, j) * side[j];
      side[i] /= left.at(i, i);
    }
  return right;
}

class fitter {
 public:
  fitter(std::vector<question> const& runs, values const& measured, constants const& start,
         constant_spreads const& spread)
      : runs_(runs), measured_(measured), start_(start) {
    for (question const& q : runs) {
      check(q);
      stages_.push_back(stages_of(q));
    }
    for (std::size_t i = 0; i < constant_count; ++i) {
      if (!(spread[i] > 0)) continue;
      free_.push_back(i);
      pull_.push_back(1 / (spread[i] * spread[i]));
      centre_.push_back(std::log(start.*constant_names[i].value));
    }
  }

  std::vector<std::size_t> const& free() const { return free_; }

  constants at(values const& x) const {
    constants c = start_;
    for (std::size_t i = 0; i < x.size(); ++i) c.*constant_names[free_[i]].value = std::exp(x[i]);
    return c;
  }
  double ratio(std::size_t run, constants const& c) const {
    return step_of(runs_[run], stages_[run], c).seconds / measured_[run];
  }

  // Uses the runs with a nonzero use[run].
  values fit(std::vector<char> const& use) const {
    values x = centre_;
    double best = misfit(x, use);
    for (int round = 0; round < 30; ++round) {
      values const step = newton_step(x, use);
      bool is_better = false;
      for (double part = 1; part > 1e-3 && !is_better; part /= 2) {
        values next = x;
        for (std::size_t i = 0; i < x.size(); ++i) {
          next[i] += part * step[i];
          if (constant_names[free_[i]].is_share) next[i] = min_of(next[i], 0.0);
        }
        double const found = misfit(next, use);
        if (found >= best * (1 - 1e-9)) continue;
        x = std::move(next);
        best = found;
        is_better = true;
      }
      if (!is_better) break;
    }
    return x;
  }

  double misfit(values const& x, std::vector<char> const& use) const {
    constants const c = at(x);
    double sum = 0;
    for (std::size_t run = 0; run < runs_.size(); ++run)
      if (use[run] != 0) sum += residual(run, c) * residual(run, c);
    sum *= weight(use);
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += pull_[i] * (x[i] - centre_[i]) * (x[i] - centre_[i]);
    return sum;
  }

  // The covariance of constants around x, and each run's share of its own prediction.
  std::pair<values, values> doubts(values const& x, std::vector<char> const& use) const {
    auto const [left, slopes] = information(x, use);
    std::size_t const n = x.size();
    std::vector<values> sides(n, values(n, 0.0));
    for (std::size_t i = 0; i < n; ++i) sides[i][i] = 1;
    std::vector<values> const inverse = solve(left, std::move(sides));
    values covariance, own;
    for (values const& row : inverse) covariance.insert(covariance.end(), row.begin(), row.end());
    for (values const& slope : slopes) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) sum += slope[i] * inverse[i][j] * slope[j];
      own.push_back(sum * weight(use));
    }
    return {covariance, own};
  }

 private:
  static double weight(std::vector<char> const& use) {
    double n = 0;
    for (char each : use) n += each != 0 ? 1 : 0;
    return min_of(1.0, few / max_of(n, 1.0)) / (expected * expected);
  }
  static double robust(double error) {
    double const size = error < 0 ? -error : error;
    double const is = std::sqrt(2 * expected * size - expected * expected);
    return size < expected ? error : error < 0 ? -is : is;
  }
  double residual(std::size_t run, constants const& c) const { return robust(std::log(ratio(run, c))); }

  // J'J + pull, and J: how residuals grow with constants. Runs that are not used have no slopes.
  std::pair<matrix, std::vector<values>> information(values const& x,
                                                     std::vector<char> const& use) const {
    constexpr double little = 1e-4;
    std::size_t const n = x.size();
    matrix left(n);
    std::vector<values> slopes;
    constants const here = at(x);
    double const w = weight(use);
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      values slope(n, 0.0);
      double const r = use[run] != 0 ? residual(run, here) : 0;
      for (std::size_t i = 0; i < n && use[run] != 0; ++i) {
        constants moved = here;
        moved.*constant_names[free_[i]].value *= 1 - little;
        slope[i] = (residual(run, moved) - r) / std::log(1 - little);
      }
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) left.at(i, j) += w * slope[i] * slope[j];
      slopes.push_back(std::move(slope));
    }
    for (std::size_t i = 0; i < n; ++i) left.at(i, i) += pull_[i];
    return {std::move(left), std::move(slopes)};
  }

  // A Gauss-Newton step: (J'J + pull) step = -J'r - pull (x - centre). Never singular.
  values newton_step(values const& x, std::vector<char> const& use) const {
    auto const [left, slopes] = information(x, use);
    constants const here = at(x);
    double const w = weight(use);
    values right(x.size(), 0.0);
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t run = 0; run < runs_.size(); ++run)
        if (use[run] != 0) right[i] -= w * slopes[run][i] * residual(run, here);
      right[i] -= pull_[i] * (x[i] - centre_[i]);
    }
    return solve(left, {right})[0];
  }

  std::vector<question> const& runs_;
  values const& measured_;
  constants start_;
  std::vector<std::vector<stage>> stages_;
  std::vector<std::size_t> free_;
  values pull_, centre_;
};

}  // namespace calibrate_detail

namespace calibrate_detail {

inline void check_measured(std::vector<question> const& runs, values const& measured) {
  auto const given = static_cast<long long>(runs.size());
  long long found = 0;
  for (double seconds : measured) found += seconds > 0 && seconds < 1e30 ? 1 : 0;
  if (found != given || measured.size() != runs.size())
    throw unpredictable(requirement::every_run_is_measured, given, found);
}

}  // namespace calibrate_detail

calibration calibrate(std::vector<question> const& runs, std::vector<double> const& measured,
                      constants const& start, constant_spreads const& spread) {
  check(start);
  calibrate_detail::check_measured(runs, measured);
  calibrate_detail::fitter const f(runs, measured, start, spread);
  std::vector<char> const use(runs.size(), 1);
  std::vector<double> const x = f.fit(use);
  auto [covariance, own] = f.doubts(x, use);
  calibration made;
  made.fitted = f.at(x);
  made.misfit = f.misfit(x, use);
  made.doubts = {f.free(), std::move(covariance)};
  for (std::size_t run = 0; run < runs.size(); ++run) {
    made.before.push_back(f.ratio(run, start));
    made.after.push_back(f.ratio(run, made.fitted));
    made.alone.push_back(std::exp(std::log(made.after[run]) / max_of(1 - own[run], 0.01)));
  }
  return made;
}

std::vector<double> ratios_left_out(std::vector<question> const& runs,
                                    std::vector<double> const& measured, constants const& start,
                                    constant_spreads const& spread) {
  check(start);
  calibrate_detail::check_measured(runs, measured);
  constexpr std::size_t folds = calibrate_detail::folds;
  if (runs.size() < 2 * folds) return {};
  calibrate_detail::fitter const f(runs, measured, start, spread);
  std::vector<double> left_out(runs.size());
  std::vector<char> use(runs.size());
  for (std::size_t fold = 0; fold < folds; ++fold) {
    for (std::size_t run = 0; run < runs.size(); ++run) use[run] = run % folds != fold ? 1 : 0;
    constants const c = f.at(f.fit(use));
    for (std::size_t run = fold; run < runs.size(); run += folds) left_out[run] = f.ratio(run, c);
  }
  return left_out;
}

}  // namespace ashlar::cost
