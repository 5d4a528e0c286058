#pragma once

#include <string>
#include <string_view>

namespace etude {

// The configuration that Keras calls that of its backend; floatx() is in dtype.hpp. Source:
// keras/src/backend/config.py.
/// The small number by which losses, metrics, constraints and layers avoid a division by 0, read when a step is traced.
/// Default: 1e-7.
double epsilon();
/// Sets the result of epsilon(). Throws Error(value) unless it is a finite number above 0.
void set_epsilon(double value);

/// The default of the option data_format of layers and images: "channels_last" or "channels_first", read when their
/// options are made. Default: "channels_last".
std::string image_data_format();
/// Sets the result of image_data_format(). Throws Error(value) for another name.
void set_image_data_format(std::string_view data_format);

}  // namespace etude
