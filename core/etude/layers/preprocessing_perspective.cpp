#include "etude/layers/preprocessing_perspective.hpp"

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"

namespace etude {

RandomPerspective::RandomPerspective(RandomPerspectiveOptions options)
    : RandomImageLayer(class_entry<RandomPerspective>, options),
      factor_(image_ops::range_of("factor", options.factor, image_ops::fractions, 0, where())),
      scale_(options.scale),
      sampling_(image_ops::sampling_of("constant", options.interpolation, options.fill_value, where())) {
  check(scale_ >= 0 && scale_ <= 1, ErrorKind::value, where(), "scale = ", scale_,
        " - expected a number from 0 to 1 - set scale.");
}

Value RandomPerspective::transform(Value images) {
  const image_ops::Range moved{1 - scale_ / 2, 1 + scale_ / 2};
  const std::vector<Value> drawn = draws(images, {factor_, image_ops::fractions, moved, moved, moved, moved});
  const Value changed = image_ops::perspective_transform(images, {drawn[2], drawn[3], drawn[4], drawn[5]}, sampling_);
  return ops::where(ops::less(drawn[1], drawn[0]), changed, images);
}

}  // namespace etude
