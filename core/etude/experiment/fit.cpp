#include <memory>
#include <utility>

#include "etude/experiment/context.hpp"
#include "etude/experiment/training_callback.hpp"

namespace etude::experiment {

HistoryPtr Context::fit(Model& model, const Data& data, FitOptions options, const TrainingOptions& training) {
  options.callbacks.push_back(std::make_shared<TrainingCallback>(*this, training));
  return model.fit(data, options);
}

}  // namespace etude::experiment
