#pragma once

#include <optional>
#include <string>

#include "etude/base/vfs.hpp"
#include "etude/experiment/search/search.hpp"

/// Private to the search: the folder of a trial.
namespace etude::experiment {

/// Its path: `storage`/trial_1.
std::string trial_folder(const std::string& storage, int trial);

/// The newest checkpoint in the folder "checkpoints" of a trial's folder: the name of a folder whose metadata.json has
/// the highest "serial".
std::optional<std::string> latest_checkpoint(Vfs& files, const std::string& folder);

/// Writes the file trial.json in a folder that exists, and returns its path.
std::string write_trial_file(Vfs& files, const std::string& folder, const SearchConfig& config,
                             const SearchOperation& creation, int restarts);

}  // namespace etude::experiment
