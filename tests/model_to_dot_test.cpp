#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "environment_variable.hpp"
#include "etude/base/host.hpp"
#include "files_in_memory.hpp"
#include "scratch_folder.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// What summary(), model_to_dot() and plot_model() say of models within models.
using namespace etude;
using namespace etude::samples;
using Catch::Matchers::ContainsSubstring;
using etude::testing::error_of;

namespace {

/// x -> inner2 (Functional: inner (Sequential: d1, d2 frozen), e1) -> dense -> add -> out.
Functional nested() {
  reset_names();
  const auto inner = std::make_shared<Sequential>(
      std::vector<LayerPtr>{layers::input_layer({.shape = {4}}), layers::dense({.units = 3, .name = "d1"}),
                            layers::dense({.units = 2, .name = "d2", .trainable = false})},
      LayerOptions{.name = "inner"});
  const SymbolicTensor fi = layers::input({.shape = {4}, .name = "fi"}), x = layers::input({.shape = {4}, .name = "x"});
  const auto inner2 = std::make_shared<Functional>(
      std::vector{fi}, std::vector{layers::dense({.units = 5, .name = "e1"})->apply(inner->apply(fi))},
      LayerOptions{.name = "inner2"});
  const SymbolicTensor sum = layers::dense({.units = 3})->apply(inner2->apply(x)) + 0.5;
  return Functional({x}, {layers::dense({.units = 2, .name = "out"})->apply(sum)}, {.name = "outer"});
}

/// The cells of a summary's rows, without their spaces and rules: "x (InputLayer)|(None, 4)|0".
std::vector<std::string> rows_of(const Model& model, SummaryOptions options = {}) {
  std::string text;
  options.print_fn = [&](std::string_view part) { text += part; };
  model.summary(options);
  std::vector<std::string> rows;
  for (std::size_t at = text.find("\n│"); at != text.npos; at = text.find("\n│", at + 1)) {
    std::string row = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
    row = std::regex_replace(row, std::regex("^│ | *│$"), "");
    rows.push_back(std::regex_replace(row, std::regex(" *│ *"), "|"));
  }
  return rows;
}

/// "x -> dense" for each edge, in order; layers by the names in their labels.
std::vector<std::string> edges_of(const std::string& dot) {
  std::map<std::string, std::string> names;
  const std::regex node("(layer_\\d+) \\[label=.*?<b>([^<]*)</b>"), edge("(layer_\\d+)->(layer_\\d+)");
  for (std::sregex_iterator at(dot.begin(), dot.end(), node); at != std::sregex_iterator(); ++at)
    names[(*at)[1]] = (*at)[2];
  std::vector<std::string> edges;
  for (std::sregex_iterator at(dot.begin(), dot.end(), edge); at != std::sregex_iterator(); ++at)
    edges.push_back(names.at((*at)[1]) + " -> " + names.at((*at)[2]));
  std::ranges::sort(edges);
  return edges;
}

using Rows = std::vector<std::string>;

}  // namespace

TEST_CASE("summary lists the layers of models inside, and which layers are trainable", "[model][summary]") {
  const Functional model = nested();
  // The rows of Keras 3.15.1 for this model; the last column is "Trainable".
  CHECK(rows_of(model, {.expand_nested = true, .show_trainable = true}) ==
        Rows{"x (InputLayer)|(None, 4)|0|-", "inner2 (Functional)|(None, 5)|38|Y", "   └ fi (InputLayer)|(None, 4)|0|-",
             "   └ inner (Sequential)|(None, 2)|23|Y", "      └ d1 (Dense)|(None, 3)|15|Y",
             "      └ d2 (Dense)|(None, 2)|8|N", "   └ e1 (Dense)|(None, 5)|15|Y", "dense (Dense)|(None, 3)|18|Y",
             "add (Add)|(None, 3)|0|-", "out (Dense)|(None, 2)|8|Y"});
  CHECK(rows_of(model) == Rows{"x (InputLayer)|(None, 4)|0", "inner2 (Functional)|(None, 5)|38",
                               "dense (Dense)|(None, 3)|18", "add (Add)|(None, 3)|0", "out (Dense)|(None, 2)|8"});
}

TEST_CASE("summary lists a range of layers", "[model][summary]") {
  const Functional model = nested();
  const Rows part{"inner2 (Functional)|(None, 5)|38", "dense (Dense)|(None, 3)|18", "add (Add)|(None, 3)|0"};
  CHECK(rows_of(model, {.layer_range = {"inner2", "add"}}) == part);
  CHECK(rows_of(model, {.layer_range = {"add", "inn"}}) == part);  // in any order, by their beginnings: as in Keras
  CHECK_THAT(error_of([&] { rows_of(model, {.layer_range = {"inner2", "thing"}}); }),
             ContainsSubstring("layer_range \"inner2\", \"thing\" - expected names of layers"));
  CHECK_THAT(error_of([&] { rows_of(model, {.layer_range = {"inner2"}}); }), ContainsSubstring("of 1 names"));
}

TEST_CASE("summary has the shapes of all outputs, and the connections before the column Trainable",
          "[model][summary]") {
  const SymbolicTensor x = layers::input({.shape = {5, 2}, .name = "x"});
  const std::vector<SymbolicTensor> states =
      layers::lstm({.units = 3, .return_state = true, .name = "lstm"})->apply_all({x});
  // Keras 3.15.1: [(None, 3), (None, 3), (None, 3)].
  CHECK(rows_of(Functional({x}, states)) ==
        Rows{"x (InputLayer)|(None, 5, 2)|0", "lstm (LSTM)|[(None, 3), (None, 3), (None, 3)]|72"});
  const SymbolicTensor y = layers::input({.shape = {4}, .name = "y"});
  const LayerPtr d = layers::dense({.units = 4, .name = "d"});
  CHECK(rows_of(Functional({y}, {d->apply(d->apply(y))}), {.show_trainable = true}) ==
        Rows{"y (InputLayer)|(None, 4)|0|-|-", "d (Dense)|(None, 4)|20|y[0][0], d[0][0]|Y"});
}

TEST_CASE("model_to_dot has a node for each layer and an edge for each tensor between two", "[model][dot]") {
  const Functional model = nested();
  const std::string dot = model_to_dot(model);
  CHECK_THAT(dot, ContainsSubstring("digraph G {") && ContainsSubstring("rankdir=TB;") &&
                      ContainsSubstring("<b>inner2</b> (Functional)") && !ContainsSubstring("shape: "));
  CHECK(edges_of(dot) == Rows{"add -> out", "dense -> add", "inner2 -> dense", "x -> inner2"});
  Sequential sequential(two_dense());
  CHECK_THAT(error_of([&] { model_to_dot(sequential); }), ContainsSubstring("not built"));
  sequential.build({-1, 3});
  CHECK(edges_of(model_to_dot(sequential)).size() == 1);
  CHECK_THAT(error_of([&] { model_to_dot(sequential, {.rankdir = "up"}); }), ContainsSubstring("rankdir \"up\""));
}

TEST_CASE("model_to_dot expands models inside, and connects their layers with those outside", "[model][dot]") {
  const Functional model = nested();
  const std::string dot = model_to_dot(model, {.expand_nested = true});
  // As model_to_dot of Keras 3.15.1 resolves the ends of edges.
  CHECK(edges_of(dot) ==
        Rows{"add -> out", "d1 -> d2", "d2 -> e1", "dense -> add", "e1 -> dense", "fi -> d1", "x -> fi"});
  CHECK_THAT(dot, ContainsSubstring("label=<inner2>;") && ContainsSubstring("label=<inner>;") &&
                      !ContainsSubstring("(Functional)"));
}

TEST_CASE("model_to_dot shows shapes, dtypes and flags on request, and escapes names", "[model][dot]") {
  const SymbolicTensor x = layers::input({.shape = {3}, .name = "a<b>&c"});
  Functional model({x}, {layers::dense({.units = 2, .name = "d", .trainable = false})->apply(x)});
  const std::string dot =
      model_to_dot(model, {.show_shapes = true, .show_dtype = true, .rankdir = "LR", .show_trainable = true});
  CHECK_THAT(dot, ContainsSubstring("<b>a&lt;b&gt;&amp;c</b> (InputLayer)") && ContainsSubstring("rankdir=LR;"));
  CHECK_THAT(dot,
             ContainsSubstring("Input shape: <b>(None, 3)</b>") && ContainsSubstring("Output shape: <b>(None, 2)</b>"));
  CHECK_THAT(dot, ContainsSubstring("Output dtype: <b>float32</b>") && ContainsSubstring("<b>Non-trainable</b>"));
  CHECK_THAT(model_to_dot(model, {.show_layer_names = false}),
             ContainsSubstring("<b>Dense</b></font>") && !ContainsSubstring("<b>d</b>"));
}

TEST_CASE("model_to_dot shows activations on request, and the resolution of the picture", "[model][dot]") {
  const SymbolicTensor x = layers::input({.shape = {3}});
  const LayerPtr named = layers::dense({.units = 2, .activation = "relu"}), plain = layers::dense({.units = 2});
  const LayerPtr custom = layers::dense({.units = 2, .activation = [](Value v) { return v; }});
  const Functional model({x}, {custom->apply(plain->apply(named->apply(x)))});
  const std::string dot = model_to_dot(model, {.show_shapes = true, .dpi = 96, .show_layer_activations = true});
  CHECK_THAT(dot, ContainsSubstring("dpi=96;"));
  std::vector<std::string> shown;
  const std::regex activation("colspan=\"2\"><font point-size=\"14\">Activation: <b>(\\w+)</b>");
  for (std::sregex_iterator at(dot.begin(), dot.end(), activation); at != std::sregex_iterator(); ++at)
    shown.push_back((*at)[1]);
  CHECK(shown == Rows{"relu", "linear", "function"});  // the input has none
  CHECK_THAT(model_to_dot(model), ContainsSubstring("dpi=200;") && !ContainsSubstring("Activation: "));
  CHECK_THAT(error_of([&] { model_to_dot(model, {.dpi = 0}); }), ContainsSubstring("dpi = 0"));
}

TEST_CASE("plot_model writes a file .dot without Graphviz", "[model][dot]") {
  const testing::FilesInMemory scope;
  const Functional model = nested();
  plot_model(model, {.to_file = "a.DOT", .rankdir = "LR"});
  const std::vector<std::byte> bytes = scope.files->read("a.DOT");
  CHECK(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) ==
        model_to_dot(model, {.show_layer_names = false, .rankdir = "LR"}));
  CHECK_THAT(error_of([&] { plot_model(model, {.to_file = "a.s vg"}); }), ContainsSubstring("to_file = \"a.s vg\""));
  CHECK_THAT(error_of([&] { plot_model(model, {.to_file = "folder/a."}); }), ContainsSubstring("ends in a format"));
}

#ifndef __EMSCRIPTEN__
TEST_CASE("plot_model runs Graphviz without a shell, and says if it is missing or fails", "[model][dot]") {
  const testing::ScratchFolder folder("etude-plot");
  const Functional model = nested();
  {
    const testing::EnvironmentVariable path("PATH", folder.path().c_str());
    CHECK_THAT(error_of([&] { plot_model(model); }), ContainsSubstring("apt-get install graphviz"));
  }
  // A program that writes its arguments and its input, each in < >, or fails.
  const std::string program = folder.path() + "/dot";
  host().files->replace(program, {"#!/bin/sh\ncase $2 in *bad*) echo 'no such format' >&2; exit 3 ;; esac\n"
                                  "{ printf '<%s>' \"$@\"; echo; cat; } >\"${2#-o}\"\n"});
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const std::string before = std::getenv("PATH");
  const testing::EnvironmentVariable path("PATH", (folder.path() + ':' + before).c_str());
  for (const std::string name : {"model.svg", "$(touch x) '; -y \"z.PNG", "no_ending"}) {
    const std::string file = folder.path() + '/' + name;
    CAPTURE(file);
    plot_model(model, {.to_file = file, .show_layer_names = true});
    const std::vector<std::byte> bytes = host().files->read(file);
    const char* format = name == "model.svg" ? "svg" : "png";
    CHECK(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) ==
          std::string("<-T") + format + "><-o" + file + ">\n" + model_to_dot(model));
  }
  CHECK_THAT(error_of([&] { plot_model(model, {.to_file = folder.path() + "/bad.xyz"}); }),
             ContainsSubstring("status 3: no such format") && ContainsSubstring("bad.xyz"));
}
#endif
