#pragma once

#include <memory>
#include <string>
#include <vector>

#include <etude/etude.hpp>

/// What is timed: a model, its data, and how it is trained. The peers train the same: workloads.json says it to them.
struct Workload {
  std::shared_ptr<etude::Model> model;
  etude::CompileOptions compile;
  etude::Tensor x, y;
  std::int64_t batch;
  /// Steps of a run, of which the first tenth warms up.
  std::int64_t steps;
  /// Instead of training, predict all of x, this often after once to warm up.
  int predictions = 0;
};

std::vector<std::string> workload_names();
/// Throws Error(value) for an unknown name.
Workload make_workload(const std::string& name);
