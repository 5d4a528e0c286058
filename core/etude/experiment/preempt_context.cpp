#include "etude/experiment/preempt_context.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "etude/base/host.hpp"
#include "etude/distribute/workers.hpp"
#include "etude/experiment/train_context.hpp"

namespace etude::experiment {
namespace {

std::unique_ptr<Termination> watch(const PreemptOptions& options) {
  const WatchTermination& chosen = options.termination ? options.termination : host().watch_termination;
  return chosen ? chosen() : nullptr;
}

}  // namespace

PreemptContext::PreemptContext(PreemptOptions options, std::shared_ptr<Vfs> files, Workers* workers,
                               TrainContext& train)
    : options_(std::move(options)),
      files_(std::move(files)),
      workers_(workers),
      train_(train),
      termination_(watch(options_)) {
  check(options_.every >= 1, ErrorKind::value, "preempt", "every = ", options_.every,
        " - expected a number of calls of 1 or more - 1 is the default.");
}

bool PreemptContext::requested() {
  // Each is asked, because a Termination must know that its request was taken.
  if (termination_ && termination_->requested()) requested_ = true;
  if (!requested_ && options_.requested && options_.requested()) requested_ = true;
  if (!requested_ && !options_.file.empty() && files_->exists(options_.file)) requested_ = true;
  return requested_;
}

bool PreemptContext::should_preempt() {
  const bool own = requested();
  if (!workers_) return own;
  if (agreed_ || ++calls_ % options_.every != 0) return agreed_;
  agreed_ = std::ranges::any_of(workers_->all_gather(own ? 1 : 0), std::identity());
  requested_ = requested_ || agreed_;
  return agreed_;
}

void PreemptContext::acknowledge() { train_.set_status("preempted"); }

}  // namespace etude::experiment
