#include "fuzz/targets.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>

#include "allocation_counter.hpp"
#include "etude/base/error.hpp"
#include "fuzz/readers.hpp"

namespace etude::testing {
namespace {

constexpr FuzzTarget targets[]{
    {"safetensors", read_safetensors_file, safetensors_inputs, repaired_safetensors, 1000},
    {"manifest", read_manifest, manifest_inputs, repaired_manifest, 1000},
    {"checkpoint", read_checkpoint, checkpoint_inputs, repaired_checkpoint, 1000},
    {"saved_model", read_saved_model, saved_model_inputs, repaired_checkpoint},
    {"backup", read_backup, backup_inputs, repaired_checkpoint},
    {"npy", read_npy_file, npy_inputs, nullptr, 100},
    {"idx", read_idx_file, idx_inputs, nullptr, 100},
#ifdef ETUDE_ZLIB
    {"gzip", read_gzip, gzip_inputs, repaired_gzip},
#endif
    {"csv", read_csv_text, csv_inputs, nullptr, 1000},
    {"config", read_object_config, config_inputs},
    {"model_config", read_model_config, model_config_inputs},
    {"filepath", read_filepath, filepath_inputs},
};

}  // namespace

std::span<const FuzzTarget> fuzz_targets() { return targets; }

const FuzzTarget& fuzz_target(std::string_view name) {
  const auto* const found = std::ranges::find(targets, name, &FuzzTarget::name);
  if (found == std::end(targets)) throw std::invalid_argument("no fuzz target \"" + std::string(name) + '"');
  return *found;
}

bool is_refused_by(const FuzzTarget& target, std::string_view bytes) {
  const std::size_t before = allocated_bytes();
  bool refused = false;
  {
    const LimitedAllocations limit(std::max(request_limit, 64 * bytes.size()));
    try {
      target.read(bytes);
    } catch (const Error&) {
      refused = true;
    } catch (const std::bad_alloc&) {
      refused = true;
    }
  }
  const std::size_t asked = allocated_bytes() - before;
  if (target.bytes_per_byte > 0 && asked > free_bytes + target.bytes_per_byte * bytes.size())
    throw std::length_error(std::string(target.name) + " asked for " + std::to_string(asked) + " bytes of memory for " +
                            std::to_string(bytes.size()) + " bytes of input");
  return refused;
}

}  // namespace etude::testing
