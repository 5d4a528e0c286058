#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "etude/data/batch.hpp"

namespace etude {

/// The images and labels in files of CIFAR-10's binary version, such as the five data_batch_….bin, one after the other:
/// x uint8 [images, 32, 32, 3], y uint8 [images, 1]. Throws Error(io) if a file cannot be read, Error(data) if it is
/// incomplete or has another label. Source: www.cs.toronto.edu/~kriz/cifar.html.
Batch read_cifar10(const std::vector<std::string>& paths);
/// The same from memory. `where` names the source in errors.
Batch parse_cifar10(std::span<const std::byte> bytes, std::string_view where = "CIFAR-10");

/// The same for CIFAR-100. label_mode: "fine", one of 100 classes, or "coarse", one of 20. Throws Error(value) for
/// another one.
Batch read_cifar100(const std::vector<std::string>& paths, std::string_view label_mode = "fine");
/// The same from memory.
Batch parse_cifar100(std::span<const std::byte> bytes, std::string_view label_mode = "fine",
                     std::string_view where = "CIFAR-100");

}  // namespace etude
