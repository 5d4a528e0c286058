#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/containers.hpp"

/// What the targets of fuzz/targets.cpp read, and good inputs of each.
namespace etude::testing {

using FuzzInputs = std::vector<std::string>;

void read_safetensors_file(std::string_view bytes);
FuzzInputs safetensors_inputs();
void read_manifest(std::string_view bytes);
FuzzInputs manifest_inputs();
/// A folder of checkpoints, packed.
void read_checkpoint(std::string_view bytes);
FuzzInputs checkpoint_inputs();
/// A folder that Model::save wrote, packed.
void read_saved_model(std::string_view bytes);
FuzzInputs saved_model_inputs();
/// A folder of BackupAndRestore, packed: a fit goes on from it.
void read_backup(std::string_view bytes);
FuzzInputs backup_inputs();

void read_npy_file(std::string_view bytes);
FuzzInputs npy_inputs();
void read_idx_file(std::string_view bytes);
FuzzInputs idx_inputs();
void read_gzip(std::string_view bytes);
FuzzInputs gzip_inputs();
/// A byte that chooses options, then the text.
void read_csv_text(std::string_view bytes);
FuzzInputs csv_inputs();

/// Two bytes that choose options, then the log that a CSVLogger goes on with.
void read_csv_log(std::string_view bytes);
FuzzInputs csv_log_inputs();
/// A file of class ProgramCache, which only native builds have.
void read_program(std::string_view bytes);
FuzzInputs program_inputs();
/// A file of class Choices, likewise.
void read_choices(std::string_view bytes);
FuzzInputs choices_inputs();

/// A byte that chooses the kind of object, then its config.
void read_object_config(std::string_view bytes);
FuzzInputs config_inputs();
void read_model_config(std::string_view bytes);
FuzzInputs model_config_inputs();
/// The filepath of a ModelCheckpoint.
void read_filepath(std::string_view bytes);
FuzzInputs filepath_inputs();

}  // namespace etude::testing
