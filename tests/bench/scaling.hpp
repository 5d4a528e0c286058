#pragma once

/// Prints tables of how a step's time grows with batch, width and depth, and the time to trace and compile with depth.
void print_scaling();
