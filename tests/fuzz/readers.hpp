#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/containers.hpp"

/// The readers of the targets in fuzz/targets.cpp, and valid inputs of each.
namespace etude::testing {

using FuzzInputs = std::vector<std::string>;

void read_safetensors_file(std::string_view bytes);
FuzzInputs safetensors_inputs();
/// All objects of an HDF5 file, as far as they can be read.
void read_hdf5_file(std::string_view bytes);
FuzzInputs hdf5_inputs();
/// The file with correct checksums, as far as it is read.
std::string repaired_hdf5(const std::string& bytes);
/// The files in a .keras file, packed.
void read_keras_file(std::string_view bytes);
FuzzInputs keras_inputs();
/// A whole model of Keras 2.
void read_keras2_file(std::string_view bytes);
FuzzInputs keras2_inputs();
/// The files in a .keras file, packed: its layers of strings, with their vocabularies.
void read_strings(std::string_view bytes);
FuzzInputs strings_inputs();
/// The index of weights in several files.
void read_shard_index(std::string_view bytes);
FuzzInputs shard_index_inputs();
void read_manifest(std::string_view bytes);
FuzzInputs manifest_inputs();
/// A folder of checkpoints, packed.
void read_checkpoint(std::string_view bytes);
FuzzInputs checkpoint_inputs();
/// A folder of Model::save, packed.
void read_saved_model(std::string_view bytes);
FuzzInputs saved_model_inputs();
/// A folder of BackupAndRestore, packed: a fit continues from it.
void read_backup(std::string_view bytes);
FuzzInputs backup_inputs();

/// The model.json of TensorFlow.js and its files, packed: the weights.
void read_tfjs_model(std::string_view bytes);
FuzzInputs tfjs_inputs();
/// The same: the whole model.
void read_tfjs_topology(std::string_view bytes);
FuzzInputs tfjs_topology_inputs();

/// A checkpoint "ckpt" of TensorFlow, packed: the weights of two dense layers around a BatchNormalization.
void read_tf_checkpoint(std::string_view bytes);
FuzzInputs tf_checkpoint_inputs();

void read_npy_file(std::string_view bytes);
FuzzInputs npy_inputs();
void read_idx_file(std::string_view bytes);
FuzzInputs idx_inputs();
/// A ZIP archive: all its files.
void read_zip_file(std::string_view bytes);
FuzzInputs zip_inputs();
void read_npz_file(std::string_view bytes);
FuzzInputs npz_inputs();
/// A byte that chooses CIFAR-10, or the labels of CIFAR-100, then the file.
void read_cifar(std::string_view bytes);
FuzzInputs cifar_inputs();
void read_gzip(std::string_view bytes);
FuzzInputs gzip_inputs();
/// PNG and JPEG, only in builds with their libraries.
void read_image(std::string_view bytes);
FuzzInputs image_inputs();
/// A byte of options, then the text.
void read_csv_text(std::string_view bytes);
FuzzInputs csv_inputs();

/// Two bytes of options, then the log that a CSVLogger continues.
void read_csv_log(std::string_view bytes);
FuzzInputs csv_log_inputs();
/// The snapshot of a search for hyperparameters.
void read_search(std::string_view bytes);
FuzzInputs search_inputs();
/// A file of class ProgramCache, only in native builds.
void read_program(std::string_view bytes);
FuzzInputs program_inputs();
/// A file of class Choices, only in native builds.
void read_choices(std::string_view bytes);
FuzzInputs choices_inputs();

/// A byte for the kind of object, then its config.
void read_object_config(std::string_view bytes);
FuzzInputs config_inputs();
void read_model_config(std::string_view bytes);
FuzzInputs model_config_inputs();
/// The filepath of a ModelCheckpoint.
void read_filepath(std::string_view bytes);
FuzzInputs filepath_inputs();

}  // namespace etude::testing
