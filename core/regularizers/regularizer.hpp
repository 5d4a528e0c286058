#pragma once

#include <memory>
#include <string>

#include "etude/base/choice.hpp"
#include "etude/base/description.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

/// What a model pays for the size of its weights, or of a layer's outputs. Source:
/// keras/src/regularizers/regularizers.py.
class Regularizer : public Described {
 public:
  virtual ~Regularizer() = default;
  /// Within a trace: a scalar that is added to the loss.
  virtual Value operator()(Value x) const = 0;
};
using RegularizerPtr = std::shared_ptr<Regularizer>;

namespace regularizers {

struct L1Options {
  double l1 = 0.01;
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) { visit("l1", self.l1); }
};
struct L2Options {
  double l2 = 0.01;
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) { visit("l2", self.l2); }
};
struct L1L2Options {
  double l1 = 0, l2 = 0;
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("l1", self.l1);
    visit("l2", self.l2);
  }
};
struct OrthogonalOptions {
  double factor = 0.01;
  std::string mode = "rows";
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("factor", self.factor);
    visit("mode", self.mode);
  }
};

/// l1 · sum |x| (A-21). All throw Error(value) for factors that are negative or not finite.
RegularizerPtr l1(L1Options options = {});
/// l2 · sum x².
RegularizerPtr l2(L2Options options = {});
/// Both.
RegularizerPtr l1_l2(L1L2Options options = {});
/// factor · the mean |cosine| of the angles between different rows, or columns, of x [n, m].
RegularizerPtr orthogonal(OrthogonalOptions options = {});

/// By name or object; null for an empty choice. Throws Error(value) listing the names there are. "l1_l2" means 0.01 of
/// both.
RegularizerPtr get(const Choice<Regularizer>& choice);

}  // namespace regularizers
}  // namespace etude
