#include <optional>
#include <utility>
#include <variant>

#include "cuda/chooser.hpp"
#include "cuda/cuda.hpp"
#include "cuda/vendor_convolution.hpp"

namespace etude {
namespace {

struct NoProgram : cuda::CompiledProgram {};

/// Counts the enqueued work, and does nothing. It supports the same as the runtime that it replaces.
class LaunchCounter : public cuda::Runtime {
 public:
  explicit LaunchCounter(std::shared_ptr<cuda::Runtime> of) : of_(std::move(of)) {
    if (const cuda::Chooser* chooser = of_->chooser()) chooser_.emplace(chooser->without_measuring());
  }
  std::int64_t count = 0;

  std::string_view model() const override { return of_->model(); }
  int ordinal() const override { return of_->ordinal(); }
  std::byte* allocate(std::size_t) override { return nullptr; }
  void release(std::byte*) noexcept override {}
  std::size_t free_memory() override { return 0; }
  void upload(std::byte*, const void*, std::size_t) override {}
  void download(void*, const std::byte*, std::size_t) override {}
  void copy(std::byte*, const std::byte*, std::size_t) override { ++count; }
  void launch(const cuda::Kernel&, std::int64_t, const void*) override { ++count; }
  cuda::Chooser* chooser() override { return chooser_ ? &*chooser_ : nullptr; }
  std::size_t product_workspace() const override { return of_->product_workspace(); }
  bool multiply(const cuda::MatrixProduct& product) override {
    const bool possible = of_->multiplies(product);
    count += possible ? 1 : 0;
    return possible;
  }
  bool multiplies(const cuda::MatrixProduct& product) override { return of_->multiplies(product); }
  std::size_t convolution_workspace() const override { return of_->convolution_workspace(); }
  std::vector<int> convolution_algorithms(const cuda::VendorConvolution& convolution) override {
    return of_->convolution_algorithms(convolution);
  }
  bool convolve(const cuda::VendorConvolution&, int) override {
    ++count;
    return true;
  }
  std::vector<std::unique_ptr<cuda::CompiledProgram>> compile(std::span<const std::string> sources) override {
    std::vector<std::unique_ptr<cuda::CompiledProgram>> programs;
    for (std::size_t i = 0; i < sources.size(); ++i) programs.push_back(std::make_unique<NoProgram>());
    return programs;
  }
  void launch(const cuda::CompiledProgram&, std::int64_t, unsigned, const void*, std::size_t) override { ++count; }
  std::unique_ptr<cuda::Graph> record(const std::function<void()>&) override { return nullptr; }
  void launch(const cuda::Graph&) override {}
  void lock() override {}
  void unlock() noexcept override {}
  CUstream_st* stream() override { return nullptr; }
  std::unique_ptr<cuda::SideQueue> side_queue() override { return nullptr; }
  void wait() override {}

 private:
  std::shared_ptr<cuda::Runtime> of_;
  std::optional<cuda::Chooser> chooser_;
};

}  // namespace

std::optional<std::int64_t> Cuda::launches(const Instruction& instruction, Addresses addresses) const {
  auto runtime = std::make_unique<LaunchCounter>(runtime_);
  const LaunchCounter& counter = *runtime;
  Cuda device(name_, std::move(runtime), options_);
  if (const auto* all_reduce = std::get_if<instruction::AllReduce>(&instruction)) return std::ssize(all_reduce->parts);
  if (std::holds_alternative<instruction::AwaitSums>(instruction)) return 0;
  device.run(instruction, addresses);
  return counter.count;
}

}  // namespace etude
