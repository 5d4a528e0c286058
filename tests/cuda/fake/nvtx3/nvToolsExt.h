#pragma once

// The part of NVIDIA's NVTX that Étude calls, for a build without CUDA. fake_cuda.cpp implements it.

int nvtxRangePushA(const char* message);
int nvtxRangePop();
