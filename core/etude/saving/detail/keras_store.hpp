#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etude/base/task.hpp"
#include "etude/saving/detail/keras_weights.hpp"
#include "etude/saving/detail/reading.hpp"
#include "etude/saving/detail/write_count.hpp"
#include "etude/saving/hdf5/detail/hdf5_reader.hpp"
#include "etude/saving/hdf5/detail/hdf5_writer.hpp"
#include "etude/training/model.hpp"

namespace etude {

/// Writes groups of variables as Keras 3 does: `begin` gets the size of the file, then `append` its bytes in order.
void write_keras_groups(std::span<const KerasWeights> groups, const std::function<void(std::uint64_t size)>& begin,
                        const std::function<void(std::string_view bytes)>& append, WriteCount& count);

/// A variable, and the dataset that has its value in a file.
struct StoredVariable {
  Variable variable;
  hdf5::Reader* file;
  hdf5::Dataset dataset;
};

/// The files that have the datasets of a group.
using FilesOfGroup = std::function<std::vector<hdf5::Reader*>(const std::string& group)>;

/// What a file of Keras 3 has for the groups. Throws Error(data) for a group with another number of datasets than
/// variables, and for another shape; with `skip_mismatch` these groups are left out, and their names are added to
/// `skipped`. Reads group by group; all arguments must outlive the Task.
Task<std::vector<StoredVariable>> find_keras_groups(FilesOfGroup files, std::span<const KerasWeights> groups,
                                                    std::string_view where, std::vector<std::string>* skipped,
                                                    Reading& reading);
/// The same of one file, also of Keras 2.13 to 3.0.
Task<std::vector<StoredVariable>> find_keras_groups(hdf5::Reader& file, std::span<const KerasWeights> groups,
                                                    std::string_view where, std::vector<std::string>* skipped,
                                                    Reading& reading);
/// The same of a file of Keras 2, where each layer of the model has a list of all its weights. `by_name`: layers of the
/// same name, instead of those at the same place; others are left out. With `skipped`, as in Keras, weights of other
/// shapes are left out alone; layers of another number of weights are left out `by_name`, and an error otherwise.
Task<std::vector<StoredVariable>> find_keras2_weights(hdf5::Reader& file, const Model& model, bool by_name,
                                                      std::string_view where, std::vector<std::string>* skipped,
                                                      Reading& reading);
/// Whether a file is one of Keras 2.
bool is_keras2(hdf5::Reader& file);

/// Sets them: all or none. One value is in memory at a time; all are read once before the first is set.
Task<> assign_stored(std::vector<StoredVariable> stored, Reading& reading);

/// The path of a group, or of a folder of assets, in files of Keras 2.13 to 3.0.
std::string old_keras_path(std::string path);

}  // namespace etude
