"""Writes torch.safetensors with the library of Hugging Face: pip install torch safetensors, then run this from any folder."""
from pathlib import Path

import torch
from safetensors.torch import save_file

tensors = {
    "half": torch.tensor([0.0, -0.0, 1.0, -2.5, 65504.0, 6e-8, float("inf"), -float("inf")], dtype=torch.float16),
    "brain": torch.tensor([1.0, -3.140625, 1e30, 2.0**-126], dtype=torch.bfloat16),
    "single": torch.tensor([[1.5, -2.25, 3e-38], [4, 5, 6]], dtype=torch.float32),
    "double": torch.tensor([1 / 3], dtype=torch.float64),
    "integers": torch.tensor([-2147483648, 7], dtype=torch.int32),
    "bytes": torch.tensor([0, 255, 3], dtype=torch.uint8),
    "truths": torch.tensor([True, False, True]),
    "scalar": torch.tensor(42.0),
    "nothing": torch.zeros(0, 3),
    'größe/φ "q"': torch.tensor([9], dtype=torch.int32),
}
save_file(tensors, Path(__file__).with_name("torch.safetensors"), {"format": "pt", "made by": "safetensors"})
