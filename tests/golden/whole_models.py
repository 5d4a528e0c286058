"""The list of models of make_golden.py, and what their definitions share. Each models_of_*.py adds its models here."""
import functools
import os

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_X64"] = "1"

import keras
from keras.src.backend.common import dtypes

keras.config.set_floatx("float64")
dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"  # on JAX, Keras else computes some layers in float32, in spite of floatx
layers = keras.layers
MODELS = {}
attend = layers.MultiHeadAttention.call


@functools.wraps(attend)
def attend_by_scores(*inputs, **options):
    """JAX's own function for attention computes a softmax in float32, and accepts no other value_dim than key_dim. Keras uses it unless scores are asked for."""
    return attend(*inputs, **{**options, "return_attention_scores": True})[0]


layers.MultiHeadAttention.call = attend_by_scores


def model(optimizer, loss, **options):
    """Adds the model that a function returns, under the name of the function.

    optimizer: name and config. loss: a name, or name and config, or a list with one for each output. Options: loss_weights; weighted, for sample
    weights; vary, a function that changes the drawn inputs."""
    def add(build):
        MODELS[build.__name__] = {"build": build, "optimizer": optimizer, "loss": loss, **options}
    return add


def sequence(shape, *stack, dtype=None):
    return keras.Sequential([keras.Input(shape, dtype=dtype), *stack])


@keras.saving.register_keras_serializable("golden")
class Causal(layers.Layer):
    """An attention layer of a sequence to itself: each step attends to those up to its own."""

    def __init__(self, layer, **options):
        super().__init__(**options)
        self.layer = layer

    def call(self, x):
        if isinstance(self.layer, layers.MultiHeadAttention):
            return self.layer(x, x, use_causal_mask=True)
        return self.layer([x, x], use_causal_mask=True)

    def get_config(self):
        return {**super().get_config(), "layer": keras.saving.serialize_keras_object(self.layer)}
