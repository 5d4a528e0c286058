#pragma once

/// All losses.
#include "etude/losses/crossentropy.hpp"
#include "etude/losses/distribution.hpp"
#include "etude/losses/focal.hpp"
#include "etude/losses/hinge.hpp"
#include "etude/losses/overlap.hpp"
#include "etude/losses/regression.hpp"
