#include "fuzz/targets.hpp"

#include <algorithm>
#include <ctime>
#include <new>
#include <stdexcept>

#include "allocation_counter.hpp"
#include "etude/base/error.hpp"
#include "etude/data/images.hpp"
#include "fuzz/readers.hpp"
#include "fuzz/tf_checkpoints.hpp"

namespace etude::testing {
namespace {

/// CPU time of this process.
double cpu_seconds() {
#ifdef __EMSCRIPTEN__
  return 0;  // its clock is wall time
#else
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
#endif
}

constexpr FuzzTarget targets[]{
    {"safetensors", read_safetensors_file, safetensors_inputs, repaired_safetensors, 1000, 5e3},
    {"hdf5", read_hdf5_file, hdf5_inputs, repaired_hdf5, 1000, 5e3, request_limit},
    {"manifest", read_manifest, manifest_inputs, repaired_manifest, 1000, 5e3},
    {"checkpoint", read_checkpoint, checkpoint_inputs, repaired_checkpoint, 1000, 5e3},
    {"saved_model", read_saved_model, saved_model_inputs, repaired_checkpoint, 10'000, 1e5},
    // It compiles and fits a model, whatever the input is.
    {"backup", read_backup, backup_inputs, repaired_checkpoint, 10'000, 1e5, 4 * request_limit, 4 * free_seconds},
    {"keras", read_keras_file, keras_inputs, nullptr, 10'000, 1e5, 4 * request_limit},
    {"keras2", read_keras2_file, keras2_inputs, nullptr, 10'000, 1e5, 4 * request_limit},
    {"strings", read_strings, strings_inputs, nullptr, 10'000, 1e5, 4 * request_limit},
    {"tfjs", read_tfjs_model, tfjs_inputs, nullptr, 1000, 5e3},
    {"tfjs_topology", read_tfjs_topology, tfjs_topology_inputs, nullptr, 10'000, 1e5, 4 * request_limit},
    {"shard_index", read_shard_index, shard_index_inputs, nullptr, 1000, 5e3},
    {"tf_checkpoint", read_tf_checkpoint, tf_checkpoint_inputs, repaired_tf_checkpoint, 1000, 5e3},
    {"npy", read_npy_file, npy_inputs, nullptr, 100, 5e3},
    {"idx", read_idx_file, idx_inputs, nullptr, 100, 5e3},
    {"zip", read_zip_file, zip_inputs, nullptr, 1000, 5e3},
    {"npz", read_npz_file, npz_inputs, nullptr, 1000, 5e3},
    {"cifar", read_cifar, cifar_inputs, nullptr, 100, 5e3},
#ifdef ETUDE_ZLIB
    {"gzip", read_gzip, gzip_inputs, repaired_gzip, 1000, 5e3},
#endif
    {"csv", read_csv_text, csv_inputs, nullptr, 1000, 5e3},
    {"csv_log", read_csv_log, csv_log_inputs, nullptr, 1000, 5e3},
    {"search", read_search, search_inputs, nullptr, 1000, 5e3},
#ifndef __EMSCRIPTEN__
    {"program", read_program, program_inputs, repaired_cache_file, 1000, 5e3},
    {"choices", read_choices, choices_inputs, repaired_cache_file, 1000, 5e3},
#endif
    {"config", read_object_config, config_inputs, nullptr, 1000, 5e3},
    // A layer of 50 bytes may have as many weights as one allocation allows.
    {"model_config", read_model_config, model_config_inputs, nullptr, 100'000, 1e5},
    {"filepath", read_filepath, filepath_inputs, nullptr, 1000, 5e3, request_limit},
    // A byte may be thousands of pixels of one color. It is the last one: builds without the libraries lack it.
    {"image", read_image, image_inputs, repaired_png, 10'000, 1e5, 4 * request_limit},
};

}  // namespace

std::span<const FuzzTarget> fuzz_targets() {
  return std::span(targets).first(std::size(targets) - (utils::image_formats().size() == 2 ? 0 : 1));
}

const FuzzTarget& fuzz_target(std::string_view name) {
  const auto* const found = std::ranges::find(targets, name, &FuzzTarget::name);
  if (found == std::end(targets)) throw std::invalid_argument("no fuzz target \"" + std::string(name) + '"');
  return *found;
}

FuzzOutcome outcome_of(const FuzzTarget& target, std::string_view bytes) {
  bool refused = false;
  const LimitedAllocations limit(std::max(request_limit, 64 * bytes.size()));
  const std::size_t before = allocated_bytes();
  const double began = cpu_seconds();
  try {
    target.read(bytes);
  } catch (const Error&) {
    refused = true;
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  return {refused, allocated_bytes() - before, cpu_seconds() - began};
}

bool is_refused_by(const FuzzTarget& target, std::string_view bytes) {
  const auto fail_with = [&](const std::string& cost) {
    throw std::length_error(std::string(target.name) + " took " + cost + " for " + std::to_string(bytes.size()) +
                            " bytes of input");
  };
  const auto size = static_cast<double>(bytes.size());
  const double most_seconds = target.fixed_seconds + 1e-9 * target.nanoseconds_per_byte * size;
  for (int attempts = 3;;) {
    const FuzzOutcome outcome = outcome_of(target, bytes);
    if (outcome.bytes > target.fixed_bytes + target.bytes_per_byte * bytes.size())
      fail_with(std::to_string(outcome.bytes) + " bytes of memory");
    if (outcome.seconds <= most_seconds) return outcome.refused;
    if (--attempts == 0) fail_with(std::to_string(outcome.seconds) + " seconds");
  }
}

}  // namespace etude::testing
