#!/usr/bin/env python3
"""Makes text.json: results of Keras's layers of strings, which need TensorFlow with any backend.

Run by hand, never by CI, from any folder:

    python3.11 -m venv keras3tf && keras3tf/bin/pip install 'keras==3.15.*' tensorflow-cpu && keras3tf/bin/python make_text.py
"""
import json
import os
import tempfile

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import numpy as np
import tensorflow as tf

CASES = []


def given(x):
    """Strings or numbers, with their shape."""
    x = np.asarray(x)
    if x.dtype.kind in "US":
        return {"shape": list(x.shape), "texts": x.ravel().tolist()}
    return {"shape": list(x.shape), "dtype": x.dtype.name, "numbers": x.ravel().tolist()}


def case(class_name, config, x, adapts=None, several=False):
    layer = getattr(keras.layers, class_name)(**config)
    if adapts is not None:
        layer.adapt(adapts)
    inputs = x if several else [x]
    tensors = [tf.constant(each) for each in inputs]
    y = np.asarray(layer(tensors if several else tensors[0]))
    record = {"class_name": class_name, "config": config, "x": [given(each) for each in inputs], "shape": list(y.shape), "y": y.ravel().tolist()}
    if adapts is not None:
        record["adapts"] = given(adapts)
    if hasattr(layer, "get_vocabulary"):
        record["vocabulary"] = [str(token) for token in layer.get_vocabulary()]
    CASES.append(record)


# The texts of the tests: Latin and other letters, digits, punctuation, all whitespace of ASCII and some beyond it.
texts = [
    "The cat sat on the mat.", "The dog, the CAT & the bird!", "it's 1,000.50 (or so) - isn't it?", "", " \t\n", "a\tb\nc\rd\x0be\x0cf",
    "Élan ÀÉ straße", "no\u00a0break\u3000wide", "猫 が 座る 😀", "[UNK] [MASK] {x|y}~`^_\\",
]
words = {"vocabulary": ["the", "cat", "dog", "sat", "x"]}
for mode in ("int", "multi_hot", "count"):
    case("TextVectorization", {**words, "output_mode": mode}, texts)
case("TextVectorization", {**words}, [[text] for text in texts])
case("TextVectorization", {**words}, "the cat")
case("TextVectorization", {**words, "output_mode": "count"}, "the cat")
case("TextVectorization", {**words}, ["", ""])
for length in (1, 3, 12):
    case("TextVectorization", {**words, "output_sequence_length": length}, texts)
case("TextVectorization", {"vocabulary": ["", "[UNK]", "the", "cat"]}, texts)
case("TextVectorization", {**words, "output_mode": "count", "max_tokens": 9, "pad_to_max_tokens": True}, texts)
for standardize in (None, "lower", "strip_punctuation"):
    case("TextVectorization", {"standardize": standardize}, texts, texts)
case("TextVectorization", {}, texts, texts)
case("TextVectorization", {"max_tokens": 7}, texts, texts)
case("TextVectorization", {"split": "character"}, texts, texts)
case("TextVectorization", {"split": "character", "standardize": None, "ngrams": 2}, texts, texts)
case("TextVectorization", {"ngrams": 3}, texts, texts)
case("TextVectorization", {"ngrams": (3, 1)}, texts, texts)
case("TextVectorization", {"ngrams": (2,), "output_mode": "multi_hot"}, texts, texts)
case("TextVectorization", {"output_mode": "tf_idf"}, texts, texts)
case("TextVectorization", {"output_mode": "tf_idf", "max_tokens": 8}, texts, texts)
case("TextVectorization", {"output_mode": "tf_idf", "max_tokens": 100, "pad_to_max_tokens": True, "ngrams": 2}, texts, texts)
case("TextVectorization", {"output_mode": "tf_idf", "vocabulary": ["the", "cat"], "idf_weights": [0.5, 0.25]}, texts)
case("TextVectorization", {"output_mode": "tf_idf", "vocabulary": ["[UNK]", "the", "cat"], "idf_weights": [0.1, 0.5, 0.25]}, texts)
tokens = [["the", "cat", "The"], ["x", "", "dog"]]
for mode in ("int", "one_hot", "multi_hot", "count"):
    for x in (tokens, tokens[0], [["the"], ["dog"]], "the"):
        case("TextVectorization", {**words, "output_mode": mode, "split": None}, x)
        case("StringLookup", {**words, "output_mode": mode}, x)
        case("StringLookup", {**words, "output_mode": mode, "mask_token": "", "num_oov_indices": 2}, x)
        if mode != "one_hot" or x != "the":
            case("Hashing", {"num_bins": 5, "output_mode": mode}, x)
case("TextVectorization", {"split": None, "ngrams": 2}, tokens, tokens)
case("TextVectorization", {"split": None, "output_sequence_length": 2}, tokens, tokens)
case("TextVectorization", {"split": None, "output_sequence_length": 4, "standardize": None}, tokens, tokens)
case("TextVectorization", {"split": None, "standardize": None}, ["b", "a", "c"], ["b", "a", "b"])

# Tokens that occur equally often: in descending order of their bytes.
several = ["b", "a", "é", "Z", "a", "😀", "ab", "猫", "[UNK]", "b"]
for config in ({}, {"max_tokens": 4}, {"num_oov_indices": 0}, {"num_oov_indices": 3, "mask_token": "Z"}, {"output_mode": "tf_idf"}, {"oov_token": "é"}):
    case("StringLookup", config, several if config.get("num_oov_indices") != 0 else ["a", "😀"], [each for each in several if config.get("num_oov_indices") != 0 or each != "[UNK]"])
case("StringLookup", {"output_mode": "tf_idf"}, tokens, tokens)
many = [f"word {i}" * (i % 7 + 1) for i in range(40)]
for salt in (None, 7, [1, 2**40]):
    case("StringLookup", {**words, "num_oov_indices": 11, "salt": salt}, many)
    case("Hashing", {"num_bins": 1000, "salt": salt}, many)
case("Hashing", {"num_bins": 2**31 - 1}, texts)
case("Hashing", {"num_bins": 50, "mask_value": ""}, texts)
case("Hashing", {"num_bins": 1, "mask_value": ""}, texts)
numbers = np.int32([[0, 1, -3], [2000000011, 7, 1]])
case("Hashing", {"num_bins": 50}, numbers)
case("Hashing", {"num_bins": 50, "mask_value": 1, "salt": 3}, numbers)
case("Hashing", {"num_bins": 6, "mask_value": 1, "output_mode": "multi_hot"}, numbers)
case("Hashing", {"num_bins": 50, "mask_value": 0}, np.float32([0, 0.5, 1.75, -3.5, 1e9]))
case("Hashing", {"num_bins": 50}, np.bool_([True, False]))
colors, sizes = ["red", "blue", "", "猫"], np.int32([1, -2, 0, 2000000011])
for mode in ("int", "one_hot"):
    for features in ([colors, sizes], [sizes, colors], [colors, colors, sizes]):
        case("HashedCrossing", {"num_bins": 13, "output_mode": mode}, features, several=True)
    case("HashedCrossing", {"num_bins": 13, "output_mode": mode}, [np.reshape(colors, (4, 1)), np.reshape(sizes, (4, 1))], several=True)
    case("HashedCrossing", {"num_bins": 13, "output_mode": mode}, ["red", np.int32(4)], several=True)
case("HashedCrossing", {"num_bins": 2**31 - 1}, [sizes, sizes], several=True)

# Hashes of every size that is computed in another way: x is the number of bytes, and the modulus keeps 61 bits.
hashes = []
for size in [*range(0, 72), 127, 128, 129, 191, 192, 193, 1000]:
    text = "".join(chr(33 + (i * 7 + size * 13) % 90) for i in range(size))
    fast = tf.strings.to_hash_bucket_fast([text], 2**61 - 1).numpy()[0]
    strong = tf.strings.to_hash_bucket_strong([text], 2**61 - 1, key=[5, 2**63 - 1]).numpy()[0]
    hashes.append({"text": text, "fast": str(fast), "strong": str(strong)})

inverted = []
for config in ({"mask_token": ""}, {"num_oov_indices": 2}, {}):
    layer = keras.layers.StringLookup(**words, **config, invert=True)
    x = np.int32([[0, 1, 2], [3, 6, 7]])
    inverted.append({"config": {**words, **config, "invert": True}, "x": given(x), "y": [token.decode() for token in layer(x).numpy().ravel()]})

layers = [keras.layers.TextVectorization(**words, ngrams=2), keras.layers.StringLookup(**words, salt=4), keras.layers.StringLookup(),
          keras.layers.Hashing(3, mask_value=0), keras.layers.Hashing(3, output_mode="one_hot", mask_value="", salt=[1, 2]),
          keras.layers.HashedCrossing(5), keras.layers.HashedCrossing(5, output_mode="one_hot")]
configs = [json.loads(json.dumps(keras.saving.serialize_keras_object(layer))) for layer in layers]

# Files below a folder, and what text_dataset_from_directory reads there.
tree = {"b/2.txt": "two", "b/10.txt": "ten", "b/deep/x/1.TXT": "deep", "b/deep.txt": "before deep", "b/note.md": "no text", "a/z.txt": "zebra", "a/e.txt": "",
        "c/1.txt": "c one", ".hidden/1.txt": "hidden", "top.txt": "top"}
directories = []
with tempfile.TemporaryDirectory() as folder:
    for path, text in tree.items():
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        with open(os.path.join(folder, path), "w") as file:
            file.write(text)
    for options in ({}, {"label_mode": "categorical"}, {"label_mode": None}, {"class_names": ["c", "a"], "label_mode": "binary"}, {"max_length": 3},
                    {"validation_split": 0.3, "subset": "training"}, {"validation_split": 0.3, "subset": "validation"}):
        data = keras.utils.text_dataset_from_directory(folder, shuffle=False, batch_size=100, **options)
        batch = next(iter(data))
        texts, labels = (batch, None) if options.get("label_mode", "int") is None else batch
        directories.append({"options": options, "texts": [text.decode() for text in texts.numpy()], "class_names": data.class_names,
                            **({} if labels is None else {"shape": list(labels.shape), "labels": labels.numpy().ravel().tolist()})})

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "text.json"), "w") as file:
    json.dump({"origin": f"Keras {keras.__version__} on TensorFlow {tf.__version__}; made by make_text.py", "cases": CASES, "hashes": hashes,
               "inverted": inverted, "configs": configs, "tree": tree, "directories": directories}, file)
    file.write("\n")
