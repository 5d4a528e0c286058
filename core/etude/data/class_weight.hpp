#pragma once

#include <map>
#include <memory>
#include <string_view>

#include "etude/data/detail/data_adapter.hpp"

namespace etude {

/// The weights of the samples of each class: class -> weight; 1 for classes that are missing (L-33).
using ClassWeight = std::map<int, double>;

/// The weight of each sample: for labels [rows] or [rows, 1] that of the label; for [rows, classes] that of the class
/// with the largest value. Floats [rows]. Throws Error(value) for targets with more axes.
Tensor class_weights_of(const Tensor& y, const ClassWeight& class_weight, std::string_view where = "fit");

/// The batch with class weights, multiplied by its sample weights, if any (L-27). Throws Error(value) for more than one
/// target.
Batch weighted(Batch batch, const ClassWeight& class_weight, std::string_view where = "fit");

/// An adapter that adds class weights to another adapter's batches. Source: _make_class_weight_map_fn in
/// keras/engine/data_adapter.py (2.9).
class ClassWeightAdapter : public DataAdapter {
 public:
  ClassWeightAdapter(std::unique_ptr<DataAdapter> adapter, ClassWeight class_weight)
      : adapter_(std::move(adapter)), class_weight_(std::move(class_weight)) {}

  std::optional<std::int64_t> size() const override { return adapter_->size(); }
  std::optional<std::int64_t> batch_size() const override { return adapter_->batch_size(); }
  std::optional<std::int64_t> partial_batch_size() const override { return adapter_->partial_batch_size(); }
  Passes passes() const override { return adapter_->passes(); }
  void begin_epoch(int epoch) override { adapter_->begin_epoch(epoch); }
  PendingPtr fetch() override { return adapter_->fetch(); }
  const Batch* consume() override;
  const Batch* peek() override { return adapter_->peek(); }
  bool infinite() const override { return adapter_->infinite(); }
  void on_epoch_end() override { adapter_->on_epoch_end(); }
  DataState state() const override { return adapter_->state(); }
  void restore(const DataState& state) override { adapter_->restore(state); }

 private:
  std::unique_ptr<DataAdapter> adapter_;
  ClassWeight class_weight_;
  Batch batch_;
};

}  // namespace etude
