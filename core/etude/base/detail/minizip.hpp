#pragma once

// minizip, which is part of zlib, with names that no other minizip in the program has.

// clang-format off
#include "etude/base/detail/minizip_names.h"
#include <unzip.h>
#include <zip.h>
#include <zlib.h>
// clang-format on
