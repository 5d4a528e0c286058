#include "etude/training/options.hpp"

#include <algorithm>
#include <string_view>

#include "etude/base/error.hpp"

namespace etude {

Data::Data(Generator generator, GeneratorOptions options)
    : make_([generator = std::move(generator), options] {
        return std::make_unique<GeneratorAdapter>(generator, options);
      }) {}

Data::Data(std::unique_ptr<BatchSource> source) {
  // std::function must be copyable, a source is not: it is handed over to the first who asks.
  auto shared = std::make_shared<std::unique_ptr<BatchSource>>(std::move(source));
  make_ = [shared] {
    check(*shared != nullptr, ErrorKind::state, "Data",
          "a generator that was used up - expected a fresh one for each fit, evaluate or predict - "
          "make a new generator.");
    return std::make_unique<GeneratorAdapter>(std::move(*shared));
  };
}

std::unique_ptr<DataAdapter> Data::adapter(const TensorLikeOptions& options) const {
  if (arrays_) return std::make_unique<TensorLikeAdapter>(*arrays_, options);
  check(!options.batch_size, ErrorKind::value, "Data",
        "batch_size with a generator - expected the generator to make batches of its own size - "
        "leave batch_size out.");
  return make_();
}

ShuffleChoice::ShuffleChoice(const char* name) : shuffle_(Shuffle::batch) {
  check(std::string_view(name) == "batch", ErrorKind::value, "fit", "shuffle = \"", name,
        "\" - expected true, false or \"batch\" - choose one.");
}

ValidationFrequency::ValidationFrequency(int every) : every_(every) {
  check(every > 0, ErrorKind::value, "fit", "validation_freq = ", every,
        " - Expected `validation_freq` to be a list or int of 1 or more - "
        "leave it out to validate after every epoch.");
}

bool ValidationFrequency::due(int epoch) const {
  return epochs_.empty() ? every_ > 0 && (epoch + 1) % every_ == 0
                         : std::ranges::find(epochs_, epoch + 1) != epochs_.end();
}

}  // namespace etude
