#include "etude/base/backend.hpp"

#include <atomic>
#include <cmath>

#include "etude/base/error.hpp"

namespace etude {
namespace {

std::atomic<double> epsilon_{1e-7};
std::atomic<bool> channels_first{false};

}  // namespace

double epsilon() { return epsilon_.load(std::memory_order_relaxed); }

void set_epsilon(double value) {
  check(std::isfinite(value) && value > 0, ErrorKind::value, "set_epsilon", value,
        " - expected a finite number above 0 - pass one such as 1e-7.");
  epsilon_.store(value, std::memory_order_relaxed);
}

std::string image_data_format() {
  return channels_first.load(std::memory_order_relaxed) ? "channels_first" : "channels_last";
}

void set_image_data_format(std::string_view data_format) {
  const bool first = data_format == "channels_first";
  check(first || data_format == "channels_last", ErrorKind::value, "set_image_data_format", '"', data_format,
        "\" - expected \"channels_last\" or \"channels_first\" - choose one.");
  channels_first.store(first, std::memory_order_relaxed);
}

}  // namespace etude
