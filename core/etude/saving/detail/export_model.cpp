#include "etude/saving/detail/export_model.hpp"

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/saving/detail/save_model.hpp"
#ifdef ETUDE_PROTOZERO
#include "etude/saving/detail/onnx/export_onnx.hpp"
#endif

namespace etude {

void export_model(Model& model, const std::string& filepath, const ExportOptions& options) {
  constexpr const char* place = "Model.export_model";
  constexpr int oldest = 17, newest = 22;
  check(options.format == "onnx", ErrorKind::value, place, "format = \"", options.format,
        "\" - expected \"onnx\" - leave it out.");
  check(options.opset_version >= oldest && options.opset_version <= newest, ErrorKind::value, place,
        "opset_version = ", options.opset_version, " - expected ", oldest, " to ", newest, " - leave it out.");
  check_is_path(filepath, place);
#ifdef ETUDE_PROTOZERO
  check_built(model, place);
  const auto check_size = [&](std::size_t bytes) {
    constexpr std::size_t most = 0x7fff'ffff;  // for readers of protobuf
    check(bytes <= most, ErrorKind::value, place, "a model of ", bytes,
          " bytes - expected less than 2 GB, the limit of files of ONNX - export a smaller model.");
  };
  std::size_t bytes = 0;
  for (const Variable& variable : model.variables()) bytes += variable.bytes();
  check_size(bytes);
  const onnx::FileContents file = onnx::onnx_file_of(model, options);
  check_size(file.size());
  const std::shared_ptr<Vfs> files = vfs_or_host({}, place);
  FileReplacement made(*files, filepath);
  file.visit_pieces([&](std::string_view piece) { made.file().append(piece); });
  made.commit();
#else
  static_cast<void>(model);
  fail(ErrorKind::state, place,
       "a build without protozero - expected one with it - install libprotozero-dev and build "
       "again.");
#endif
}

}  // namespace etude
