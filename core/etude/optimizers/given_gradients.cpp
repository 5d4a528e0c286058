#include "etude/optimizers/given_gradients.hpp"

#include <utility>

namespace etude {
namespace {

thread_local GivenGradients* collecting = nullptr;

}  // namespace

GivenGradients::GivenGradients() : outer_(std::exchange(collecting, this)) {}
GivenGradients::~GivenGradients() { collecting = outer_; }
GivenGradients* GivenGradients::current() { return collecting; }

}  // namespace etude
