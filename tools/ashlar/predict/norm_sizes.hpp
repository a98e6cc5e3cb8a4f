// Norms and biases of a model, as they are counted into its parts.
#pragma once

namespace tool {

// Parameters of a norm, in multiples of its width.
struct norm_sizes {
  double scales = 0, biases = 0;

  double both() const { return scales + biases; }
  friend constexpr norm_sizes operator*(double times, norm_sizes const& one) {
    return {times * one.scales, times * one.biases};
  }
};

inline constexpr norm_sizes rms_norm{1, 0}, layer_norm{1, 1};

// Adds norms to a mixer, a feed-forward part, or what is beside the layers; `width` is that of all.
template <class Part>
void add_norms(Part& part, double width, norm_sizes const& one = rms_norm) {
  part.beside += width * one.both();
  part.norms += width * one.both();
  part.biases += width * one.biases;
}

// Adds biases of products.
template <class Part>
void add_biases(Part& part, double count) {
  part.beside += count;
  part.biases += count;
}

}  // namespace tool
