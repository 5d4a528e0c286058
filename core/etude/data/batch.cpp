#include "etude/data/batch.hpp"

#include <string>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"

namespace etude {
namespace {

/// "y sizes: 5, 6", in the format of Keras.
std::string sizes(std::string_view name, const std::vector<Tensor>& tensors) {
  std::string text = spelled(name);
  text += " sizes: ";
  for (std::size_t i = 0; i < tensors.size(); ++i) text += (i ? ", " : "") + std::to_string(tensors[i].shape()[0]);
  return text;
}

/// `keys` are the names of the tensors, if they have any.
void check_rows(const char* name, const std::vector<Tensor>& tensors, const std::vector<std::string>& keys,
                std::string_view where) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i] && tensors[i].shape().rank() > 0) [[likely]]
      continue;
    const std::string key = i < keys.size() ? '"' + keys[i] + '"' : std::to_string(i);
    check(static_cast<bool>(tensors[i]), ErrorKind::data, where, name, '[', key,
          "] holds no data - expected a tensor of shape [samples, ...] - pass such a tensor.");
    fail(ErrorKind::data, where, name, '[', key,
         "] is a scalar - expected a tensor of shape [samples, ...] - reshape it.");
  }
}

}  // namespace

void check_cardinality(const Batch& batch, std::string_view where) {
  check(!batch.x.empty(), ErrorKind::data, where, "no x - expected one tensor per model input - pass the inputs.");
  const BatchNames& names = names_of(batch);
  check_rows("x", batch.x, names.x, where);
  check_rows("y", batch.y, names.y, where);
  check_rows("sample_weight", batch.sample_weight, names.sample_weight, where);
  check(batch.mask.empty() || batch.mask.size() == batch.x.size(), ErrorKind::data, where, batch.mask.size(),
        " masks for ", batch.x.size(),
        " inputs - expected none, or one for each - pass an empty tensor for an input "
        "without a mask.");
  bool same = true;
  for (const Tensor& mask : batch.mask)
    if (mask) same = same && mask.shape().rank() > 0 && mask.shape()[0] == batch.size();
  for (const auto* tensors : {&batch.x, &batch.y, &batch.sample_weight})
    for (const Tensor& tensor : *tensors) same = same && tensor.shape()[0] == batch.size();
  if (!same) [[unlikely]] {
    std::string text = sizes("x", batch.x);
    if (!batch.y.empty()) text += "; " + sizes("y", batch.y);
    if (!batch.sample_weight.empty()) text += "; " + sizes("sample_weight", batch.sample_weight);
    std::string masks;
    for (const Tensor& mask : batch.mask)
      if (mask)
        masks += (masks.empty() ? "; mask sizes: " : ", ") + std::to_string(mask.shape().rank() ? mask.shape()[0] : 1);
    text += masks;
    fail(ErrorKind::data, where, "Data cardinality is ambiguous: ", text,
         " - expected the same number of samples in all arrays - check the data.");
  }
  check(batch.size() > 0, ErrorKind::data, where, "x of shape ", batch.x.front().shape(),
        " is empty - expected at least one sample - check the data.");
}

void cast_to_floatx(Batch& batch) {
  for (auto* tensors : {&batch.x, &batch.y, &batch.sample_weight})
    for (Tensor& tensor : *tensors)
      if (is_floating(tensor.dtype())) tensor = tensor.astype(floatx());
}

}  // namespace etude
