#pragma once

/// Prints a JSON line with the peak of one core: multiply-adds in registers, in GFLOP/s, and a pass that reads and
/// writes memory beyond the caches, in GB/s. Floors are computed from it.
void print_peak();
