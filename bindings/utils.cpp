/// et.utils: functions that prepare data, with Keras's names.
#include "bind.hpp"
#include "data.hpp"

namespace etude::js {

template <> struct Conversion<utils::Skipgrams> {
  static val to(const utils::Skipgrams& made) {
    val result = val::object();
    result.set("couples", to_js(made.couples));
    result.set("labels", to_js(made.labels));
    return result;
  }
  static std::string made() { return "{ couples: Tensor; labels: Tensor }"; }
};

template <> struct Conversion<utils::TextDataset> {
  static val to(const utils::TextDataset& made) {
    val result = val::object();
    result.set("texts", to_js(made.texts));
    result.set("labels", made.labels ? to_js(made.labels) : val::null());
    result.set("classNames", to_js(made.class_names));
    return result;
  }
  static std::string made() { return "{ texts: string[]; labels: Tensor | null; classNames: string[] }"; }
};

template <> struct Conversion<std::pair<Dataset, Dataset>> {
  static val to(const std::pair<Dataset, Dataset>& parts) { return to_js(std::vector{parts.first, parts.second}); }
  static std::string made() { return "[Dataset, Dataset]"; }
};

template <> struct Conversion<utils::ImageReader> {
  static utils::ImageReader from(const val& function, const Where&) {
    return [function](std::string path) -> Task<Tensor> {
      const val pixels = co_await settled(call(function, path));
      co_return from_js<Tensor>(pixels, {"utils.image_dataset_from_directory", "the result of decode"});
    };
  }
  static std::string given() { return "((path: string) => Promise<Tensor>)"; }
};

template <> struct Conversion<utils::ImageDataset> {
  static val to(const utils::ImageDataset& made) {
    val result = to_js<Dataset>(made);
    result.set("classNames", to_js(made.class_names));
    result.set("filePaths", to_js(made.file_paths));
    return result;
  }
  static std::string made() { return "Dataset & { classNames: string[]; filePaths: string[] }"; }
};

EMSCRIPTEN_BINDINGS(utils) {
  if (in_worker()) return;
  bind<"utils.to_categorical(x, num_classes?)", utils::to_categorical>();
  bind<"utils.normalize(x, options?)", utils::normalize>();
  bind<"utils.pad_sequences(sequences, options?)",
       [](std::vector<Tensor> sequences, utils::PadSequencesOptions options) {
         return utils::pad_sequences(sequences, options);
       }>();
  bind<"utils.timeseries_dataset_from_array(data, targets, options)", utils::timeseries_dataset_from_array>();
  bind<"utils.split_dataset(dataset, options)",
       [](Dataset dataset, utils::SplitDatasetOptions options) { return utils::split_dataset(dataset, options); }>();
  bind<"utils.text_dataset_from_directory(directory, options?)",
       [](std::string directory, utils::TextDatasetOptions options) {
         return utils::text_dataset_from_directory(directory, options);
       }>();
  // web/src/images.ts has the interface of images.
  bind<"utils.image_dataset_from_directory(directory, options, read)",
       [](std::string directory, utils::ImageDatasetOptions options, utils::ImageReader read) {
         return utils::image_datasets(directory, options, read);
       }>();
  bind<"utils.load_img(pixels, options?)",
       [](Tensor pixels, utils::LoadImgOptions options) { return utils::load_img(pixels, options); }>();
  bind<"utils.skipgrams(sequence, vocabulary_size, options?)", utils::skipgrams>();
  bind<"utils.make_sampling_table(size, sampling_factor?)",
       [](std::int64_t size, std::optional<double> sampling_factor) {
         return utils::make_sampling_table(size, sampling_factor.value_or(1e-5));
       }>();
}

}  // namespace etude::js
