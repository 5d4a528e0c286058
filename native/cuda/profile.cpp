#include "cuda/profile.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <utility>

#include "cuda/expect.hpp"
#include "etude/base/detail/crc32c.hpp"

namespace etude::cuda {
namespace {

/// The most launches that are timed before the host waits for them and adds up their times.
constexpr std::size_t most_timed = 4096;
constexpr std::size_t longest_name = 80;

std::string product_name(const MatrixProduct& p) {
  const auto times = [](std::int64_t n) { return " x " + std::to_string(n); };
  return "product of " + std::string(name_of(p.dtype)) + ' ' + std::to_string(p.m) + times(p.k) + times(p.n) +
         (p.count > 1 ? times(p.count) : "") + (p.bias ? " + bias" : "");
}

std::string convolution_name(const VendorConvolution& c) {
  const instruction::ConvolutionShape& s = c.shape;
  const Shape x{s.batch, s.height, s.width, s.channels},
      kernel{s.window.extent[0], s.window.extent[1], s.channels / s.groups, s.filters};
  return std::string(name_of(c.pass)) + " by cuDNN of " + std::string(name_of(c.dtype)) + ' ' + x.to_string() + " by " +
         kernel.to_string();
}

std::vector<std::weak_ptr<Profile>>& wanted_profiles() {
  static auto& profiles = *new std::vector<std::weak_ptr<Profile>>;  // never destroyed: used until exit
  return profiles;
}

}  // namespace

std::shared_ptr<Profile> Profile::wanted() {
  const char* const variable = std::getenv("ETUDE_PROFILE");
  if (!variable || std::string_view(variable) != "1") return nullptr;
  // CUDA was called before, so its exit handlers run after this one.
  if (wanted_profiles().empty()) std::atexit([] { std::fputs(tables().c_str(), stderr); });
  auto profile = std::make_shared<Profile>();
  wanted_profiles().push_back(profile);
  return profile;
}

std::string Profile::tables() {
  std::string text;
  for (const std::weak_ptr<Profile>& one : wanted_profiles())
    if (const auto profile = one.lock()) text += profile->table();
  return text;
}

Profile::~Profile() {
  for (const Timed& one : timed_) free_.insert(free_.end(), {one.begin, one.end});
  for (const cudaEvent_t event : free_) cudaEventDestroy(event);
}

cudaEvent_t Profile::event() {
  cudaEvent_t event = nullptr;
  if (free_.empty()) {
    expect(cudaEventCreateWithFlags(&event, cudaEventDefault), "making an event");
  } else {
    event = free_.back();
    free_.pop_back();
  }
  return event;
}

std::string Profile::program_name(std::string_view source) {
  char hash[24];
  std::snprintf(hash, sizeof hash, "program %08x:", static_cast<unsigned>(crc32c(source)));
  std::string name = hash;
  std::set<std::string_view> ops;
  constexpr std::string_view before = "op::", behind = "::apply(";
  for (std::size_t at = source.find(before); at != source.npos; at = source.find(before, at)) {
    at += before.size();
    const std::size_t end = source.find(behind, at);
    if (end == source.npos) break;
    const std::string_view op = source.substr(at, end - at);
    if (name.size() < longest_name && ops.insert(op).second) name += ' ' + std::string(op);
  }
  return name;
}

Profile::Span::Span(Profile* profile, const MatrixProduct& product, cudaStream_t stream)
    : Span(profile, profile ? product_name(product) : std::string(), stream) {}

Profile::Span::Span(Profile* profile, const VendorConvolution& convolution, cudaStream_t stream)
    : Span(profile, profile ? convolution_name(convolution) : std::string(), stream) {}

Profile::Span::Span(Profile* profile, std::string_view name, cudaStream_t stream) : profile_(profile), stream_(stream) {
  if (!profile_) return;
  if (profile_->timed_.size() == most_timed) profile_->add_up();
  index_ = profile_->timed_.size();
  profile_->timed_.push_back({std::string(name), profile_->event(), profile_->event()});
  const Timed& timed = profile_->timed_.back();
  expect(cudaEventRecord(timed.begin, stream), "recording an event");
}

Profile::Span::~Span() {
  if (profile_) cudaEventRecord(profile_->timed_[index_].end, stream_);  // without it the time is not counted
}

void Profile::add_up() {
  for (const Timed& one : timed_) {
    float milliseconds = 0;
    if (cudaEventSynchronize(one.end) == cudaSuccess &&
        cudaEventElapsedTime(&milliseconds, one.begin, one.end) == cudaSuccess) {
      Total& total = totals_[one.name];
      ++total.calls;
      total.microseconds += 1e3 * static_cast<double>(milliseconds);
    }
    free_.insert(free_.end(), {one.begin, one.end});
  }
  cudaGetLastError();  // the next call must not report it
  timed_.clear();
}

std::string Profile::table() {
  add_up();
  double all = 0;
  std::vector<std::pair<std::string, Total>> sorted(totals_.begin(), totals_.end());
  std::ranges::sort(sorted, std::greater{}, [](const auto& one) { return one.second.microseconds; });
  for (const auto& [name, total] : sorted) all += total.microseconds;
  std::string text = "  share    calls         us    us each  kernel\n";
  for (const auto& [name, total] : sorted) {
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "%6.1f%% %8lld %10.0f %10.2f  ",
                  100 * total.microseconds / std::max(all, 1e-9), static_cast<long long>(total.calls),
                  total.microseconds, total.microseconds / static_cast<double>(total.calls));
    text += numbers + name + '\n';
  }
  return text;
}

}  // namespace etude::cuda
