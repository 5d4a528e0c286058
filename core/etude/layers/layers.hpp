#pragma once

/// All layers.
#include "etude/layers/attention.hpp"
#include "etude/layers/convolution.hpp"
#include "etude/layers/dense.hpp"
#include "etude/layers/embedding.hpp"
#include "etude/layers/global_pooling.hpp"
#include "etude/layers/gru.hpp"
#include "etude/layers/lstm.hpp"
#include "etude/layers/merging.hpp"
#include "etude/layers/noise.hpp"
#include "etude/layers/normalization.hpp"
#include "etude/layers/pointwise.hpp"
#include "etude/layers/pooling.hpp"
#include "etude/layers/shaping.hpp"
#include "etude/layers/simple_rnn.hpp"
#include "etude/layers/symbolic.hpp"

namespace etude::layers {

/// The families of layers. To add a layer, add it here.
using CoreLayers = ClassList<ActivationLayer, Dense, Embedding, Flatten, Rescaling>;
using ConvolutionLayers = ClassList<Conv1D, Conv2D, GlobalAveragePooling1D, MaxPooling2D>;
using RecurrentLayers = ClassList<GRU, LSTM, SimpleRNN>;
using RegularizationLayers = ClassList<Dropout, GaussianNoise>;
using NormalizationLayers = ClassList<BatchNormalization, LayerNormalization, RMSNormalization>;
using MergingLayers = ClassList<Add, Concatenate>;
using AttentionLayers = ClassList<MultiHeadAttention>;

using Layers = Joined<CoreLayers, ConvolutionLayers, RecurrentLayers, RegularizationLayers, NormalizationLayers,
                      MergingLayers, AttentionLayers>;

}  // namespace etude::layers
