#pragma once

#include "workloads.hpp"

/// ResNet-20 (He et al., 2016) on Fashion-MNIST as images of 32 x 32 x 3.
Workload resnet20();
/// Blocks of a depthwise and a pointwise convolution, as in MobileNet (Howard et al., 2017), on the same images.
Workload mobile();
/// A causal transformer over characters: 4 layers, width 128, 4 heads, 64 tokens.
Workload gpt();
