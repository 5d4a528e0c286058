#include "cuda/side_queue.hpp"

#include "cuda/expect.hpp"

namespace etude::cuda {

SideStream::SideStream(int ordinal, cudaStream_t first) : ordinal_(ordinal), first_(first) {
  expect(cudaSetDevice(ordinal), "choosing a GPU");
  expect(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking), "making a stream");
}

SideStream::~SideStream() {
  wait();
  for (const cudaEvent_t mark : marks_)
    if (mark) cudaEventDestroy(mark);
  if (followed_) cudaEventDestroy(followed_);
  cudaStreamDestroy(side_);
  cudaGetLastError();
}

void SideStream::prepare(cudaEvent_t& event) const {
  expect(cudaSetDevice(ordinal_), "choosing a GPU");
  if (!event) expect(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
}

void SideStream::follow() {
  prepare(followed_);
  expect(cudaEventRecord(followed_, first_), "recording an event");
  expect(cudaStreamWaitEvent(side_, followed_, 0), "waiting for an event");
}

void SideStream::mark(std::size_t number) {
  if (marks_.size() <= number) marks_.resize(number + 1);
  prepare(marks_[number]);
  expect(cudaEventRecord(marks_[number], side_), "recording an event");
}

void SideStream::lead(std::size_t number) {
  if (marks_.size() <= number || !marks_[number]) return;  // there is no such mark
  expect(cudaSetDevice(ordinal_), "choosing a GPU");
  expect(cudaStreamWaitEvent(first_, marks_[number], 0), "waiting for an event");
}

bool SideStream::reached(std::size_t number) {
  if (marks_.size() <= number || !marks_[number]) return true;  // there is no such mark
  expect(cudaSetDevice(ordinal_), "choosing a GPU");
  const cudaError_t status = cudaEventQuery(marks_[number]);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();  // which would return it later
    return false;
  }
  expect(status, "the work before an event");
  return true;
}

void SideStream::wait() noexcept {
  cudaSetDevice(ordinal_);
  cudaStreamSynchronize(side_);
  cudaGetLastError();  // the first stream reports it too
}

}  // namespace etude::cuda
