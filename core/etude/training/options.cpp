#include "etude/training/options.hpp"

#include <algorithm>
#include <string_view>

#include "etude/base/error.hpp"

namespace etude {

ShuffleChoice::ShuffleChoice(const char* name) : shuffle_(Shuffle::batch) {
  check(std::string_view(name) == "batch", ErrorKind::value, "fit", "shuffle = \"", name,
        "\" - expected true, false or \"batch\" - choose one.");
}

ValidationFrequency::ValidationFrequency(int every) : every_(every) {
  check(every > 0, ErrorKind::value, "fit", "validation_freq = ", every,
        " - Expected `validation_freq` to be a list or int of 1 or more - "
        "omit it to validate after every epoch.");
}

bool ValidationFrequency::due(int epoch) const {
  return epochs_.empty() ? every_ > 0 && (epoch + 1) % every_ == 0
                         : std::ranges::find(epochs_, epoch + 1) != epochs_.end();
}

}  // namespace etude
