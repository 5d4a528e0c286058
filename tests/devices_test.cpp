#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support.hpp"
#include "training_samples.hpp"

namespace etude {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using testing::error_of;

TEST_CASE("devices() lists the CPU first, and a device is found by its name", "[devices]") {
  REQUIRE(!devices().empty());
  CHECK(devices().front().name == "/cpu:0");
  for (const char* name : {"/cpu:0", "cpu:0", "CPU", "/device:CPU:0"}) CHECK(&device(name) == &cpu_device());
  for (const char* name : {"/cpu:1", "tpu:0", "", "/gpu:x", "/gpu:99", "cpu0"}) {
    INFO(name);
    CHECK_THAT(error_of([&] { device(name); }),
               StartsWith("[device] \"" + std::string(name) + "\" - expected one of /cpu:0"));
  }
}

TEST_CASE("a model runs on the device of its strategy, or on the default device", "[devices]") {
  Cpu other;
  set_default_device(other);
  CHECK(&Sequential(samples::two_dense()).strategy()->device() == &other);
  set_default_device(cpu_device());
  CHECK(&default_device() == &cpu_device());
  const auto named = std::make_shared<OneDeviceStrategy>("/cpu:0");
  CHECK(&named->device(0) == &cpu_device());
}

TEST_CASE("without a driver, a request for a GPU is an error with the reason", "[.][no_driver]") {
  CHECK(devices().size() == 1);
  CHECK(&default_device() == &cpu_device());
  CHECK_THAT(error_of([] { device("/gpu:0"); }),
             ContainsSubstring("expected one of /cpu:0; there is no NVIDIA driver"));
}

TEST_CASE("a GPU is listed with its model, is the default device, and trains", "[.][gpu]") {
  REQUIRE(devices().size() > 1);
  CHECK(devices()[1].name == "/gpu:0");
  CHECK(!devices()[1].model.empty());
  CHECK(&default_device() == &device("/gpu:0"));
  const Tensor x = samples::waves({16, 3});
  const auto fitted = [&](Device& on) {
    set_random_seed(3);
    const auto strategy = std::make_shared<OneDeviceStrategy>(on);
    const auto scope = strategy->scope();
    Sequential model(samples::two_dense());
    model.compile(samples::mse());
    return (*model.fit(x, samples::signs_of(x), {.batch_size = 5, .epochs = 4, .verbose = 0}))["loss"].back();
  };
  CHECK(std::abs(fitted(device("/gpu:0")) - fitted(cpu_device())) < 1e-5);
}

TEST_CASE("without the library, a request for a GPU is an error with the searched places", "[.][no_device_library]") {
  CHECK_THAT(error_of([] { device("/gpu:0"); }), ContainsSubstring("nowhere.so cannot be loaded"));
}

}  // namespace etude
