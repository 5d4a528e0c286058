#pragma once

/// All layers.
#include "etude/layers/activation_layers.hpp"
#include "etude/layers/adaptive_pooling.hpp"
#include "etude/layers/attention.hpp"
#include "etude/layers/conv_lstm.hpp"
#include "etude/layers/convolution.hpp"
#include "etude/layers/core_layers.hpp"
#include "etude/layers/dense.hpp"
#include "etude/layers/depthwise_convolution.hpp"
#include "etude/layers/einsum_dense.hpp"
#include "etude/layers/embedding.hpp"
#include "etude/layers/extents.hpp"
#include "etude/layers/feature_space.hpp"
#include "etude/layers/global_pooling.hpp"
#include "etude/layers/gru.hpp"
#include "etude/layers/hashing.hpp"
#include "etude/layers/lambda.hpp"
#include "etude/layers/locally_connected.hpp"
#include "etude/layers/lstm.hpp"
#include "etude/layers/merging.hpp"
#include "etude/layers/noise.hpp"
#include "etude/layers/normalization.hpp"
#include "etude/layers/operation.hpp"
#include "etude/layers/pipeline.hpp"
#include "etude/layers/pointwise.hpp"
#include "etude/layers/pooling.hpp"
#include "etude/layers/preprocessing_audio.hpp"
#include "etude/layers/preprocessing_augmentation.hpp"
#include "etude/layers/preprocessing_boxes.hpp"
#include "etude/layers/preprocessing_clahe.hpp"
#include "etude/layers/preprocessing_color.hpp"
#include "etude/layers/preprocessing_elastic.hpp"
#include "etude/layers/preprocessing_images.hpp"
#include "etude/layers/preprocessing_lookup.hpp"
#include "etude/layers/preprocessing_mixing.hpp"
#include "etude/layers/preprocessing_numbers.hpp"
#include "etude/layers/preprocessing_perspective.hpp"
#include "etude/layers/preprocessing_random.hpp"
#include "etude/layers/projected_attention.hpp"
#include "etude/layers/random_fourier_features.hpp"
#include "etude/layers/rnn.hpp"
#include "etude/layers/scored_attention.hpp"
#include "etude/layers/separable_convolution.hpp"
#include "etude/layers/shaping.hpp"
#include "etude/layers/simple_rnn.hpp"
#include "etude/layers/spectral_normalization.hpp"
#include "etude/layers/string_lookup.hpp"
#include "etude/layers/symbolic.hpp"
#include "etude/layers/text_vectorization.hpp"
#include "etude/layers/transposed_convolution.hpp"
#include "etude/layers/wrappers.hpp"

namespace etude::layers {

/// The families of layers. To add a layer, add it here.
using CoreLayers =
    ClassList<ActivationLayer, Dense, EinsumDense, Embedding, IdentityLayer, Masking, Rescaling, ReversibleEmbedding>;
using ActivationLayers = ClassList<ELU, LeakyReLU, PReLU, ReLU, Softmax, ThresholdedReLU>;
using ConvolutionLayers =
    ClassList<Conv1D, Conv2D, Conv3D, Conv1DTranspose, Conv2DTranspose, Conv3DTranspose, DepthwiseConv1D,
              DepthwiseConv2D, SeparableConv1D, SeparableConv2D, LocallyConnected1D, LocallyConnected2D>;
using PoolingLayers =
    ClassList<AveragePooling1D, AveragePooling2D, AveragePooling3D, MaxPooling1D, MaxPooling2D, MaxPooling3D,
              GlobalAveragePooling1D, GlobalAveragePooling2D, GlobalAveragePooling3D, GlobalMaxPooling1D,
              GlobalMaxPooling2D, GlobalMaxPooling3D, AdaptiveAveragePooling1D, AdaptiveAveragePooling2D,
              AdaptiveAveragePooling3D, AdaptiveMaxPooling1D, AdaptiveMaxPooling2D, AdaptiveMaxPooling3D>;
using ReshapingLayers =
    ClassList<Cropping1D, Cropping2D, Cropping3D, Flatten, Permute, RepeatVector, Reshape, UpSampling1D, UpSampling2D,
              UpSampling3D, ZeroPadding1D, ZeroPadding2D, ZeroPadding3D>;
using RecurrentLayers = ClassList<Bidirectional, ConvLSTM1D, ConvLSTM2D, ConvLSTM3D, GRU, GRUCell, LSTM, LSTMCell, RNN,
                                  SimpleRNN, SimpleRNNCell, StackedRNNCells, TimeDistributed>;
using RegularizationLayers = ClassList<ActivityRegularization, AlphaDropout, Dropout, GaussianDropout, GaussianNoise,
                                       SpatialDropout1D, SpatialDropout2D, SpatialDropout3D>;
using NormalizationLayers = ClassList<BatchNormalization, GroupNormalization, LayerNormalization, RMSNormalization,
                                      SpectralNormalization, UnitNormalization>;
using MergingLayers = ClassList<Add, Average, Concatenate, Dot, Maximum, Minimum, Multiply, Subtract>;
using AttentionLayers = ClassList<AdditiveAttention, Attention, GroupedQueryAttention, MultiHeadAttention>;
using PreprocessingLayers =
    ClassList<Normalization, Discretization, CategoryEncoding, RandomFourierFeatures, IntegerLookup, StringLookup,
              TextVectorization, Hashing, HashedCrossing, MelSpectrogram, STFTSpectrogram, Pipeline, Resizing,
              CenterCrop, AutoContrast, Equalization, ContrastLimitedAdaptiveHistogramEqualization, RandomFlip,
              RandomCrop, RandomTranslation, RandomZoom, RandomRotation, RandomShear, RandomPerspective,
              RandomElasticTransform, AugMix, RandAugment, RandomBrightness, RandomColorDegeneration, RandomContrast,
              RandomHue, RandomSaturation, RandomSharpness, RandomPosterization, RandomInvert, RandomGrayscale,
              RandomColorJitter, RandomGaussianBlur, Solarization, RandomErasing, MixUp, CutMix, MaxNumBoundingBoxes>;

using Layers =
    Concatenated<CoreLayers, ActivationLayers, ConvolutionLayers, PoolingLayers, ReshapingLayers, RecurrentLayers,
                 RegularizationLayers, NormalizationLayers, MergingLayers, AttentionLayers, PreprocessingLayers>;

}  // namespace etude::layers
