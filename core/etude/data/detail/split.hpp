#pragma once

#include "etude/data/batch.hpp"

namespace etude {

struct Split {
  Batch train, validation;
};

/// The first floor(n * (1 - validation_split)) rows, and the rest as validation data (L-7), whose batches contain row
/// numbers of all arrays. Both are views. Throws Error(value) unless 0 < validation_split < 1 and both parts have a row
/// (L-8). Source: train_validation_split in keras/engine/data_adapter.py (2.9).
Split train_validation_split(const Batch& arrays, double validation_split);

/// Throws Error(value) for a split: data in batches cannot be split (L-8).
void check_no_validation_split(double validation_split);

}  // namespace etude
