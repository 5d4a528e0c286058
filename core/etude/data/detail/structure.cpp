#include "etude/data/detail/structure.hpp"

#include "etude/base/error.hpp"

namespace etude {

void Structure::admit(Batch& batch, std::string_view where) {
  check_cardinality(batch, where);
  cast_to_floatx(batch);
  Form form{batch.x.size(), batch.y.size(), batch.sample_weight.size(), {}, names_of(batch)};
  for (const auto* tensors : {&batch.x, &batch.y, &batch.sample_weight})
    for (const Tensor& tensor : *tensors) form.dtypes.push_back(tensor.dtype());
  if (!first_) first_ = form;
  const Form& first = *first_;
  check(form.x == first.x && form.y == first.y && form.sample_weight == first.sample_weight, ErrorKind::data, where,
        "a batch of ", form.x, " x, ", form.y, " y and ", form.sample_weight, " sample_weight tensors - expected ",
        first.x, ", ", first.y, " and ", first.sample_weight,
        " as in the first batch - use the same structure for every batch.");
  check(form.names == first.names, ErrorKind::data, where,
        "a batch with other names than the first - expected the same in every batch - check the keys of x, y and "
        "sample_weight.");
  for (std::size_t i = 0; i < first.dtypes.size(); ++i)
    check(form.dtypes[i] == first.dtypes[i], ErrorKind::data, where, "tensor ", i, " of a batch is ", form.dtypes[i],
          " - expected ", first.dtypes[i], " as in the first batch - convert it.");
}

}  // namespace etude
