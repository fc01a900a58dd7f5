"""The network of Distill-MOS v7, written for inference; imported only where torch is.

Architecture after Microsoft's package ``distillmos`` 0.9.1 and ``xls-r-sqa`` 0.1.0 (both MIT; Stahl and Gamper,
"Distillation and Pruning for Scalable Self-Supervised Representation-Based Speech Quality Assessment", 2025).
The names of the parameters are those of its checkpoint.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["WINDOW", "DistillMosNet"]

WINDOW = 122_880
"""Samples of one window, 7.68 s at 16 kHz."""

_CHANNELS = (2, 64, 64, 128, 256, 256, 256)
_FEATURES, _WIDTH, _FRAMES, _LAYERS, _HEADS = 1024, 200, 384, 7, 8


def _compressed_spectrum(x: Tensor) -> Tensor:
    """Map (batch, samples) to the magnitude-compressed complex spectrum (batch, 2, 161 bins, frames)."""
    padded = functional.pad(x, (80, 80), mode="reflect")
    window = torch.hann_window(320, device=x.device)
    spectrum = torch.view_as_real(
        torch.stft(padded, 320, hop_length=160, window=window, center=False, return_complex=True)
    )
    magnitude = spectrum.square().sum(dim=-1, keepdim=True).sqrt().clip(1e-12)
    return (magnitude**0.3 * spectrum / magnitude).permute(0, 3, 1, 2)


class _Convolutions(nn.Module):
    """Six 3x3 convolutions that halve the frequency axis five times and time once."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for i, (inputs, outputs) in enumerate(pairwise(_CHANNELS)):
            stride = (2 if i else 1, 2 if i == len(_CHANNELS) - 2 else 1)
            layers += [nn.Conv2d(inputs, outputs, 3, stride=stride, padding=(0, 1)), nn.LeakyReLU(0.1)]
        self.cnn = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.cnn(_compressed_spectrum(x)).flatten(1, -2)


class _Encoder(nn.Module):
    """Projection, stored position code and seven transformer layers; (batch, 1024, 384) to (batch, 384, 200)."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(_FEATURES)
        self.linear_proj = nn.Linear(_FEATURES, _WIDTH)
        self.position_encoding = nn.Module()
        self.position_encoding.register_buffer("pe", torch.zeros(1, _FRAMES, _WIDTH))
        layer = nn.TransformerEncoderLayer(_WIDTH, _HEADS, dim_feedforward=2 * _WIDTH, batch_first=True)
        self.transformer_encoder = nn.TransformerEncoder(layer, _LAYERS, enable_nested_tensor=False)

    def forward(self, x: Tensor) -> Tensor:
        projected = self.linear_proj(self.norm(x).transpose(1, 2))
        return self.transformer_encoder(projected + self.position_encoding.pe)


class _Pool(nn.Module):
    """Attention pooling over frames; (batch, 384, 200) to (batch,)."""

    def __init__(self) -> None:
        super().__init__()
        self.linear1 = nn.Linear(_WIDTH, 2 * _WIDTH)
        self.linear2 = nn.Linear(2 * _WIDTH, 1)
        self.linear3 = nn.Linear(_WIDTH, 1)

    def forward(self, x: Tensor) -> Tensor:
        weights = self.linear2(functional.relu(self.linear1(x))).softmax(dim=1)
        return self.linear3((weights * x).sum(dim=1)).squeeze(-1)


class _Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm_input = nn.BatchNorm1d(_FEATURES)
        self.transformer = _Encoder()
        self.norm_trans = nn.BatchNorm1d(_WIDTH)
        self.pool = _Pool()

    def forward(self, x: Tensor) -> Tensor:
        encoded = self.transformer(self.norm_input(x))
        return self.pool(self.norm_trans(encoded.transpose(1, 2)).transpose(1, 2)).sigmoid()


class DistillMosNet(nn.Module):
    """Predict a MOS in 1..5 of windows of 7.68 s at 16 kHz: (batch, 122880) to (batch,)."""

    def __init__(self) -> None:
        super().__init__()
        self.cnn = _Convolutions()
        self.transformer_pool_attn = _Head()

    def forward(self, x: Tensor) -> Tensor:
        """Score windows, each scaled to its own peak."""
        scaled = x / (x.abs().amax(dim=1, keepdim=True) + 1e-8)
        return 1 + 4 * self.transformer_pool_attn(self.cnn(scaled))
