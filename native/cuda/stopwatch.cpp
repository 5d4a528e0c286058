#include "cuda/stopwatch.hpp"

#include <algorithm>
#include <vector>

#include "cuda/expect.hpp"

namespace etude::cuda {
namespace {

constexpr int usual_runs = 5;
/// Milliseconds of work that is long enough to be measured once.
constexpr float long_run = 20;

/// A run of queued work, between two events.
class Timed {
 public:
  Timed() {
    try {
      for (cudaEvent_t* event : {&begin_, &end_})
        expect(cudaEventCreateWithFlags(event, cudaEventDefault), "making an event");
    } catch (...) {
      destroy();
      throw;
    }
  }
  ~Timed() { destroy(); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

  bool run(const std::function<bool()>& work, cudaStream_t stream) {
    expect(cudaEventRecord(begin_, stream), "beginning a measurement");
    if (!work()) return false;
    expect(cudaEventRecord(end_, stream), "ending a measurement");
    return true;
  }
  /// Waits for it.
  float milliseconds() const {
    expect(cudaEventSynchronize(end_), "measured work");
    float result = 0;
    expect(cudaEventElapsedTime(&result, begin_, end_), "reading a time");
    return result;
  }

 private:
  void destroy() {
    for (const cudaEvent_t event : {begin_, end_})
      if (event) cudaEventDestroy(event);
  }

  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

std::optional<double> milliseconds_of(const std::function<bool()>& work, cudaStream_t stream) {
  Timed first;
  if (!first.run(work, stream)) return {};
  std::vector<Timed> runs(first.milliseconds() > long_run ? 1 : usual_runs);
  for (Timed& one : runs)
    if (!one.run(work, stream)) return {};
  std::vector<float> times;
  for (const Timed& one : runs) times.push_back(one.milliseconds());
  std::ranges::sort(times);
  return times[times.size() / 2];
}

}  // namespace etude::cuda
