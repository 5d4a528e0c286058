#pragma once

#include <memory>
#include <string>

#include "etude/base/choice.hpp"
#include "etude/classes/class_entry.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

/// A penalty on the size of weights, or of a layer's outputs. Source: keras/src/regularizers/regularizers.py.
class Regularizer : public Described {
 public:
  using Kind = Regularizer;
  virtual ~Regularizer() = default;
  /// Within a trace: a scalar that is added to the loss.
  virtual Value operator()(Value x) const = 0;
};
using RegularizerPtr = std::shared_ptr<Regularizer>;

namespace regularizers {

struct L1Options {
  double l1 = 0.01;
  template <class O = L1Options> static constexpr auto fields() {
    return option_rows(option<&O::l1>("Factor of the sum of magnitudes."));
  }
};
struct L2Options {
  double l2 = 0.01;
  template <class O = L2Options> static constexpr auto fields() {
    return option_rows(option<&O::l2>("Factor of the sum of squares."));
  }
};
struct L1L2Options {
  double l1 = 0, l2 = 0;
  template <class O = L1L2Options> static constexpr auto fields() {
    return option_rows(option<&O::l1>("Factor of the sum of magnitudes."),
                       option<&O::l2>("Factor of the sum of squares."));
  }
};
struct OrthogonalOptions {
  double factor = 0.01;
  std::string mode = "rows";
  template <class O = OrthogonalOptions> static constexpr auto fields() {
    return option_rows(option<&O::factor>("Factor of the mean cosine."),
                       option<&O::mode>("\"rows\" or \"columns\": the vectors to make orthogonal."));
  }
};

/// l1 · sum |x| (A-21). All throw Error(value) for factors that are negative or not finite.
struct L1 {
  static constexpr ClassText about{"L1", "l1 · sum of |x|."};
  static RegularizerPtr make(const L1Options& options);
};
inline constexpr Factory<L1> l1;

/// l2 · sum x².
struct L2 {
  static constexpr ClassText about{"L2", "l2 · sum of x²."};
  static RegularizerPtr make(const L2Options& options);
};
inline constexpr Factory<L2> l2;

/// The sum of both penalties.
struct L1L2 {
  static constexpr ClassText about{"L1L2", "l1 · sum of |x| + l2 · sum of x²."};
  static RegularizerPtr make(const L1L2Options& options);
};
inline constexpr Factory<L1L2> l1_l2;

/// factor · the mean |cosine| of the angles between different rows, or columns, of x [n, m].
struct OrthogonalRegularizer {
  static constexpr ClassText about{.name = "OrthogonalRegularizer",
                                   .text = "factor · mean |cosine| between different rows, or columns, of a matrix.",
                                   .factory = "orthogonal"};
  static RegularizerPtr make(const OrthogonalOptions& options);
};
inline constexpr Factory<OrthogonalRegularizer> orthogonal;

/// The family of regularizers. To add a regularizer, add it here.
using Regularizers = ClassList<L1, L2, L1L2, OrthogonalRegularizer>;

/// Finds a regularizer by name, or returns the object; null for an empty choice. Throws Error(value), listing all
/// names, for an unknown name. "l1_l2" means 0.01 for both.
RegularizerPtr get(const Choice<Regularizer>& choice);

}  // namespace regularizers
}  // namespace etude
