"""Writes torch_model.safetensors: the state of a model of PyTorch, an input and its output. pip install torch safetensors,
then run this from any folder."""
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, (3, 2))
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.encoder(x).mean((2, 3)))


model = Model()
for _ in range(3):  # moves the averages of the normalization
    model(torch.randn(8, 2, 6, 5))
model.eval()
model.head.half().float()  # its values are exact in half precision
x = torch.randn(2, 2, 6, 5)
state = {name: value.half() if name.startswith("head") else value for name, value in model.state_dict().items()}
images = x.permute(0, 2, 3, 1).contiguous()
save_file({**state, "x": images, "y": model(x).detach()}, Path(__file__).with_name("torch_model.safetensors"))
