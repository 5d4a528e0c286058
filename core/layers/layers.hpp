#pragma once

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

/// The layers by the names Keras users write: layers::dense({.units = 10}).
namespace etude::layers {

inline LayerPtr dense(DenseOptions options) { return std::make_shared<Dense>(std::move(options)); }
inline LayerPtr conv2d(Conv2DOptions options) { return std::make_shared<Conv2D>(std::move(options)); }
inline LayerPtr max_pooling2d(MaxPooling2DOptions options = {}) {
  return std::make_shared<MaxPooling2D>(std::move(options));
}
inline LayerPtr activation(ActivationOptions options) { return std::make_shared<ActivationLayer>(std::move(options)); }
inline LayerPtr activation(const char* name) { return activation(ActivationOptions{.activation = name}); }
inline LayerPtr embedding(EmbeddingOptions options) { return std::make_shared<Embedding>(std::move(options)); }
inline LayerPtr flatten(FlattenOptions options = {}) { return std::make_shared<Flatten>(std::move(options)); }
inline LayerPtr dropout(DropoutOptions options) { return std::make_shared<Dropout>(std::move(options)); }
inline LayerPtr dropout(double rate) { return dropout(DropoutOptions{.rate = rate}); }
inline LayerPtr gaussian_noise(GaussianNoiseOptions options) {
  return std::make_shared<GaussianNoise>(std::move(options));
}
inline LayerPtr rescaling(RescalingOptions options) { return std::make_shared<Rescaling>(std::move(options)); }

inline LayerPtr add(MergeOptions options = {}) { return std::make_shared<Add>(std::move(options)); }
inline LayerPtr layer_normalization(LayerNormalizationOptions options = {}) {
  return std::make_shared<LayerNormalization>(std::move(options));
}
inline LayerPtr concatenate(ConcatenateOptions options = {}) {
  return std::make_shared<Concatenate>(std::move(options));
}
inline LayerPtr batch_normalization(BatchNormalizationOptions options = {}) {
  return std::make_shared<BatchNormalization>(std::move(options));
}
inline LayerPtr global_average_pooling1d(GlobalAveragePooling1DOptions options = {}) {
  return std::make_shared<GlobalAveragePooling1D>(std::move(options));
}
inline std::shared_ptr<MultiHeadAttention> multi_head_attention(MultiHeadAttentionOptions options) {
  return std::make_shared<MultiHeadAttention>(std::move(options));
}
inline std::shared_ptr<Recurrent> lstm(const LSTMOptions& options) { return std::make_shared<LSTM>(options); }
inline std::shared_ptr<Recurrent> gru(const GRUOptions& options) { return std::make_shared<GRU>(options); }
inline std::shared_ptr<Recurrent> simple_rnn(const SimpleRNNOptions& options) {
  return std::make_shared<SimpleRNN>(options);
}

}  // namespace etude::layers
