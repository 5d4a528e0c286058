#include "etude/initializers/initializer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/classes/class_table.hpp"

namespace etude::initializers {
namespace {

class ConstantInitializer : public Initializer {
 public:
  explicit ConstantInitializer(ConstantValue value) : value_(std::move(value)) {}
  Tensor operator()(const Shape& shape, DType dtype) override {
    Tensor tensor = Tensor::uninitialized(shape, dtype);
    if (value_.array())
      spread(value_.array().astype(dtype), tensor);
    else
      visit_dtype(dtype, [&]<class T>(T) { std::ranges::fill(tensor.data<T>(), static_cast<T>(value_.number())); });
    return tensor;
  }

 private:
  static void spread(const Tensor& array, Tensor& to) {
    check(array.shape().rank() <= to.shape().rank() &&
              broadcast_shapes(array.shape(), to.shape(), "Constant") == to.shape(),
          ErrorKind::shape, "Constant", "an array of shape ", array.shape(), " for a weight of shape ", to.shape(),
          " - expected a shape that broadcasts to it - reshape the array.");
    const std::size_t bytes = size_of(to.dtype());
    for (std::int64_t i = 0; i < to.size(); ++i)
      std::memcpy(to.raw() + static_cast<std::size_t>(i) * bytes,
                  array.raw() + source(array.shape(), to.shape(), i) * bytes, bytes);
  }
  /// The element of `from` at the place `index` after broadcasting to `to`.
  static std::size_t source(const Shape& from, const Shape& to, std::int64_t index) {
    std::int64_t result = 0, stride = 1;
    for (std::ptrdiff_t axis = 1; axis <= static_cast<std::ptrdiff_t>(from.rank()); ++axis) {
      if (from[-axis] > 1) result += index % to[-axis] * stride;
      index /= to[-axis];
      stride *= from[-axis];
    }
    return static_cast<std::size_t>(result);
  }

  ConstantValue value_;
};

}  // namespace

InitializerPtr Zeros::make(const NoOptions&) { return std::make_shared<ConstantInitializer>(0); }
InitializerPtr Ones::make(const NoOptions&) { return std::make_shared<ConstantInitializer>(1); }
InitializerPtr Constant::make(const ConstantOptions& options) {
  return std::make_shared<ConstantInitializer>(options.value);
}
InitializerPtr get(const Choice<Initializer>& choice) {
  return choice.object() ? choice.object() : make_of<Initializer>(class_table<Initializer>().named(choice.name()));
}

}  // namespace etude::initializers
