#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "etude/base/memory_vfs.hpp"
#include "golden_path.hpp"
#include "safetensors_samples.hpp"
#include "support.hpp"

namespace etude {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

const auto samples = tensors_of_all_kinds();

/// The reader's error for a file; "no error" if it accepts it.
std::string refusal(const std::string& file) {
  return error_of([&] {
    try {
      parse_safetensors(bytes_of(file), "a.safetensors");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::data);
      throw;
    }
  });
}
std::string refusal(std::string_view header, std::string_view data) { return refusal(safetensors_file(header, data)); }

std::string entry(const char* dtype, const char* shape, const char* offsets) {
  return std::string(R"({"dtype":")") + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + '}';
}

}  // namespace

TEST_CASE("safetensors: the header is JSON, padded so that data begins at a multiple of 64; tensors are in order",
          "[saving]") {
  const std::string file = safetensors_file(samples, {{"format", "pt"}});
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) length |= std::uint64_t{static_cast<unsigned char>(file[i])} << 8 * i;
  REQUIRE((8 + length) % 64 == 0);
  const json header = json::parse(file.substr(8, static_cast<std::size_t>(length)));
  CHECK(header.size() == 7);
  CHECK(header["__metadata__"] == json{{"format", "pt"}});
  CHECK(header["dense/kernel"] == json{{"dtype", "F32"}, {"shape", {2, 3}}, {"data_offsets", {0, 24}}});
  CHECK(header["iterations"] == json{{"dtype", "I32"}, {"shape", json::array()}, {"data_offsets", {24, 28}}});
  CHECK(header["bytes"]["dtype"] == "U8");
  CHECK(header["double"] == json{{"dtype", "F64"}, {"shape", {1, 1, 2}}, {"data_offsets", {31, 47}}});
  CHECK(header["none"] == json{{"dtype", "F32"}, {"shape", {0, 4}}, {"data_offsets", {47, 47}}});
  CHECK(header["größe \"q\""] == json{{"dtype", "BOOL"}, {"shape", {2}}, {"data_offsets", {47, 49}}});
  CHECK(file.size() == 8 + length + 49);
  CHECK(safetensors_file(std::vector<NamedTensor>{}).size() == 64);
}

TEST_CASE("safetensors: saved tensors are loaded to the bit, in order, with their metadata", "[saving]") {
  const auto files = std::make_shared<MemoryVfs>();
  save_safetensors("weights.safetensors", {samples, {{"a", "b"}, {"", "ü"}}}, files);
  CHECK(files->list(".") == std::vector<std::string>{"weights.safetensors"});
  const Safetensors loaded = load_safetensors("weights.safetensors", files);
  CHECK(loaded.metadata == std::map<std::string, std::string>{{"a", "b"}, {"", "ü"}});
  REQUIRE(loaded.tensors.size() == samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    CHECK(loaded.tensors[i].name == samples[i].name);
    CHECK(same_bits(loaded.tensors[i].tensor, samples[i].tensor));
  }
}

TEST_CASE("safetensors: a file of Hugging Face's library is read; half precision becomes float32", "[saving]") {
  const Safetensors file = load_safetensors(golden_path("torch.safetensors"));
  CHECK(file.metadata == std::map<std::string, std::string>{{"format", "pt"}, {"made by", "safetensors"}});
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, tensor] : file.tensors) tensors.emplace(name, tensor);
  CHECK(tensors.size() == 10);
  CHECK(same_bits(tensors.at("half"),
                  Tensor::from<float>({8}, {0.f, -0.f, 1.f, -2.5f, 65504.f, 0x1p-24f, INFINITY, -INFINITY})));
  CHECK(tensors.at("brain").dtype() == DType::float32);
  CHECK(numbers(tensors.at("brain"))[1] == -3.140625);
  CHECK(numbers(tensors.at("brain"))[3] == 0x1p-126);
  CHECK(same_bits(tensors.at("single"), Tensor::from<float>({2, 3}, {1.5f, -2.25f, 3e-38f, 4, 5, 6})));
  CHECK(same_bits(tensors.at("double"), Tensor::from<double>({1}, {1.0 / 3})));
  CHECK(same_bits(tensors.at("integers"), Tensor::from<std::int32_t>({2}, {-2147483647 - 1, 7})));
  CHECK(same_bits(tensors.at("bytes"), Tensor::from<std::uint8_t>({3}, {0, 255, 3})));
  CHECK(tensors.at("truths").dtype() == DType::boolean);
  CHECK(numbers(tensors.at("truths")) == std::vector<double>{1, 0, 1});
  CHECK(tensors.at("scalar").shape() == Shape{});
  CHECK(tensors.at("scalar").item() == 42);
  CHECK(tensors.at("nothing").shape() == Shape{0, 3});
  CHECK(tensors.at("größe/φ \"q\"").item() == 9);
}

TEST_CASE("safetensors: names that the format does not allow are refused before the file is written", "[saving]") {
  const auto saving = [](const std::vector<std::string>& names) {
    std::vector<NamedTensor> tensors;
    for (const std::string& name : names) tensors.push_back({name, Tensor({1})});
    const auto files = std::make_shared<MemoryVfs>();
    const std::string error = error_of([&] { save_safetensors("a", {tensors}, files); });
    CHECK(files->list(".").empty() == (error != "no error"));
    return error;
  };
  CHECK(saving({"a", "b"}) == "no error");
  CHECK(saving({std::string(4096, 'x')}) == "no error");
  CHECK_THAT(saving({"a", "b", "a"}), ContainsSubstring("two tensors are named \"a\""));
  CHECK_THAT(saving({std::string(4097, 'x')}),
             ContainsSubstring("a name of 4097 bytes") || ContainsSubstring("4097 bytes"));
  CHECK_THAT(saving({"__metadata__"}), ContainsSubstring("__metadata__"));
  CHECK_THAT(saving({"\xFF"}), ContainsSubstring("UTF-8"));
}

TEST_CASE("safetensors: each rule of the format is kept; errors name the file and the byte", "[saving]") {
  const std::string four = "data", f32 = entry("F32", "[1]", "[0,4]");
  CHECK(refusal(R"({"a":)" + f32 + "}   ", four) == "no error");

  SECTION("the header exists and is an object") {
    CHECK_THAT(refusal(std::string(7, '\0')), ContainsSubstring("\"a.safetensors\" has 7 bytes"));
    CHECK_THAT(refusal(std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}", 10)),
               ContainsSubstring("18446744073709551615 bytes"));
    CHECK_THAT(refusal(std::string("\3\0\0\0\0\0\0\0{}", 10)), ContainsSubstring("expected at most 2"));
    CHECK_THAT(refusal(std::string("\1\xE1\xF5\5\0\0\0\0{}", 10)), ContainsSubstring("header of 100000001 bytes"));
    CHECK_THAT(refusal("", ""), ContainsSubstring("does not begin with { at byte 8"));
    CHECK_THAT(refusal(" {}", ""), ContainsSubstring("does not begin with {"));
    CHECK_THAT(refusal("[]", ""), ContainsSubstring("does not begin with {"));
    CHECK_THAT(refusal("\xEF\xBB\xBF{}", ""), ContainsSubstring("does not begin with {"));
    CHECK_THAT(refusal("{} {}", ""), ContainsSubstring("syntax error") && ContainsSubstring("before byte 12"));
    CHECK_THAT(refusal("{\"a\":", ""), ContainsSubstring("syntax error"));
    CHECK_THAT(refusal("{\"\xFF\":{}}", ""), ContainsSubstring("invalid") && ContainsSubstring("before byte 11"));
    CHECK_THAT(refusal("{} // a comment", ""), ContainsSubstring("syntax error"));
  }
  SECTION("nothing is repeated, or beyond the limits") {
    CHECK_THAT(refusal(R"({"a":)" + f32 + R"(,"a":)" + f32 + "}", four), ContainsSubstring("\"a\" twice"));
    CHECK_THAT(refusal(R"({"\u0061":)" + f32 + R"(,"a":)" + f32 + "}", four), ContainsSubstring("\"a\" twice"));
    CHECK_THAT(refusal(R"({"__metadata__":{},"__metadata__":{}})", ""), ContainsSubstring("\"__metadata__\" twice"));
    CHECK_THAT(refusal(R"({"__metadata__":{"k":"1","k":"2"}})", ""), ContainsSubstring("\"k\" twice"));
    CHECK_THAT(refusal(R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", ""),
               ContainsSubstring("\"dtype\" twice"));
    CHECK_THAT(refusal(R"({")" + std::string(4097, 'n') + R"(":)" + f32 + "}", four), ContainsSubstring("4096 bytes"));
    CHECK_THAT(refusal(R"({"a":)" + entry("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") + "}", four),
               ContainsSubstring("more than 8 numbers"));
  }
  SECTION("an entry has dtype, shape and data_offsets, each of its type, and nothing else") {
    for (const char* wrong : {R"({"a":1})",
                              R"({"a":null})",
                              R"({"a":"text"})",
                              R"({"a":[1]})",
                              R"({"a":{}})",
                              R"({"a":{"dtype":"U8"}})",
                              R"({"a":{"dtype":1,"shape":[0],"data_offsets":[0,0]}})",
                              R"({"a":{"dtype":"U8","shape":0,"data_offsets":[0,0]}})",
                              R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"more":1}})",
                              R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}})",
                              R"({"a":{"dtype":"U8","shape":[0.0],"data_offsets":[0,0]}})",
                              R"({"a":{"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,0]}})",
                              R"({"a":{"dtype":"U8","shape":[[0]],"data_offsets":[0,0]}})",
                              R"({"a":{"dtype":"U8","shape":[true],"data_offsets":[0,0]}})",
                              R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0]}})",
                              R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0,0]}})",
                              R"({"a":{"dtype":{},"shape":[0],"data_offsets":[0,0]}})",
                              R"({"a":{"dtype":"U8","shape":["0"],"data_offsets":[0,0]}})",
                              R"({"__metadata__":{"a":1}})",
                              R"({"__metadata__":{"a":{}}})",
                              R"({"__metadata__":[]})",
                              R"({"__metadata__":"a"})"})
      CHECK_THAT(refusal(wrong, ""),
                 ContainsSubstring("[safetensors] \"a.safetensors\" has ") && ContainsSubstring("before byte "));
    std::string deep = "{";
    for (int i = 0; i < 100'000; ++i) deep += "\"a\":{";
    CHECK_THAT(refusal(deep, ""), ContainsSubstring("\"a\" in a tensor's entry"));
    CHECK_THAT(refusal(R"({"a":)" + entry("I64", "[1]", "[0,8]") + "}", "12345678"),
               ContainsSubstring("dtype \"I64\" - expected F32, F64"));
  }
  SECTION("each byte of the data belongs to exactly one tensor, whose size fits its shape") {
    const auto two = [](const char* first, const char* second, const char* data) {
      return refusal(R"({"a":)" + entry("U8", "[2]", first) + R"(,"b":)" + entry("U8", "[2]", second) + "}", data);
    };
    CHECK(two("[2,4]", "[0,2]", "data") == "no error");
    CHECK_THAT(two("[0,2]", "[3,5]", "datax"),
               ContainsSubstring("\"b\" begins at byte ") && ContainsSubstring("where the one before"));
    CHECK_THAT(two("[0,2]", "[1,3]", "dat"), ContainsSubstring("\"b\" begins at byte "));
    CHECK_THAT(two("[0,2]", "[0,2]", "da"),
               ContainsSubstring("\"b\" begins at byte ") || ContainsSubstring("\"a\" begins"));
    CHECK_THAT(two("[1,3]", "[3,5]", "datax"), ContainsSubstring("\"a\" begins at byte "));
    CHECK_THAT(two("[0,2]", "[2,4]", "data+"), ContainsSubstring("has 1 bytes after byte"));
    CHECK_THAT(two("[0,2]", "[2,4]", "dat"),
               ContainsSubstring("\"b\" lies at bytes 2 to 4") && ContainsSubstring("cut off"));
    CHECK_THAT(two("[2,0]", "[2,4]", "data"), ContainsSubstring("\"a\" lies at bytes 2 to 0"));
    CHECK_THAT(two("[0,18446744073709551615]", "[2,4]", "data"), ContainsSubstring("\"a\" lies at bytes"));
    CHECK_THAT(refusal(R"({"a":)" + entry("F32", "[2]", "[0,4]") + "}", four),
               ContainsSubstring("\"a\" has 4 bytes at byte"));
    CHECK_THAT(refusal("{}", "x"), ContainsSubstring("has 1 bytes after byte 10"));
    for (const char* bomb :
         {"[4611686018427387905,4]", "[9223372036854775807,2]", "[18446744073709551615]",
          "[0,9223372036854775807,9223372036854775807]", "[9223372036854775807,9223372036854775807,0]"})
      CHECK_THAT(refusal(R"({"a":)" + entry("F32", bomb, "[0,4]") + "}", four), ContainsSubstring("\"a\" has 4 bytes"));
    CHECK_THAT(refusal(R"({"a":)" + entry("F32", "[9223372036854775807,9223372036854775807,0]", "[0,0]") + "}", ""),
               ContainsSubstring("\"a\" has 0 bytes"));
    CHECK_THAT(refusal(R"({"a":)" + entry("BOOL", "[2]", "[0,2]") + "}", std::string_view("\1\2", 2)),
               ContainsSubstring("a BOOL that is neither 0 nor 1 at byte "));
  }
}

}  // namespace etude
