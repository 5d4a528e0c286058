#pragma once

/// Prints tables of a step's time by batch, width and depth, and of the time to trace and compile by depth.
void print_scaling();
