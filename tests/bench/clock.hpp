#pragma once

/// Seconds of CPU time that this process has used, all threads together. Under Node.js that includes its own compiler
/// and collector, as for every peer there.
double cpu_seconds();
/// Seconds since a fixed moment.
double wall_seconds();
/// "native" or "wasm".
const char* target_name();
