#pragma once

#include <memory>
#include <string>
#include <vector>

#include <etude/etude.hpp>

/// A timed workload: a model, its data, and its training. The peers train the same by workloads.json.
struct Workload {
  std::shared_ptr<etude::Model> model;
  etude::CompileOptions compile;
  etude::Tensor x, y;
  std::int64_t batch;
  /// Steps of a run; the first tenth is the warm-up.
  std::int64_t steps;
  /// Instead of training, predicts all of x this many times, after one time to warm up.
  int predictions = 0;
};

std::vector<std::string> workload_names();
/// Throws Error(value) for an unknown name.
Workload make_workload(const std::string& name);
