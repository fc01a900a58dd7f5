"""The network of UTMOS22 strong on transformers' Wav2Vec2; imported only where torch and transformers are.

Source: Saeki et al., "UTMOS: UTokyo-SaruLab System for VoiceMOS Challenge 2022"; the checkpoint's layout is that of
tarepan/SpeechMOS v1.2.0 (MIT), a plain state dict. Its backbone is wav2vec 2.0 base, so its keys are renamed.
"""

from __future__ import annotations

import re
from functools import reduce

import torch
from torch import Tensor, nn
from transformers import Wav2Vec2Config, Wav2Vec2Model

__all__ = ["UtmosNet", "renamed"]

# from the checkpoint's names to those of transformers.Wav2Vec2Model, applied in order
_RENAMES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"^wav2vec2\.layer_norm\.", "wav2vec2.feature_projection.layer_norm."),
        (r"^wav2vec2\.post_extract_proj\.", "wav2vec2.feature_projection.projection."),
        (r"^wav2vec2\.mask_emb$", "wav2vec2.masked_spec_embed"),
        (r"feature_extractor\.conv_layers\.(\d+)\.0\.", r"feature_extractor.conv_layers.\1.conv."),
        (r"feature_extractor\.conv_layers\.0\.2\.", "feature_extractor.conv_layers.0.layer_norm."),
        (r"encoder\.pos_conv\.0\.weight_g$", "encoder.pos_conv_embed.conv.parametrizations.weight.original0"),
        (r"encoder\.pos_conv\.0\.weight_v$", "encoder.pos_conv_embed.conv.parametrizations.weight.original1"),
        (r"encoder\.pos_conv\.0\.", "encoder.pos_conv_embed.conv."),
        (r"self_attn_layer_norm\.", "layer_norm."),
        (r"self_attn\.", "attention."),
        (r"(layers\.\d+)\.fc1\.", r"\1.feed_forward.intermediate_dense."),
        (r"(layers\.\d+)\.fc2\.", r"\1.feed_forward.output_dense."),
    )
)


def renamed(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the checkpoint with the names that :class:`UtmosNet` has."""
    return {reduce(lambda name, rule: rule[0].sub(rule[1], name), _RENAMES, key): value for key, value in state.items()}


class UtmosNet(nn.Module):
    """Predict a MOS of one utterance at 16 kHz: (1, samples) to (1,)."""

    def __init__(self) -> None:
        super().__init__()
        self.wav2vec2 = Wav2Vec2Model(Wav2Vec2Config())
        self.domain_emb = nn.Parameter(torch.zeros(1, 128))
        self.judge_emb = nn.Parameter(torch.zeros(1, 128))
        self.blstm = nn.LSTM(768 + 128 + 128, 512, batch_first=True, bidirectional=True)
        self.projection = nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Score the waveform; the mean over frames is mapped from the training scale by ``2 * y + 3``."""
        features = self.wav2vec2(x).last_hidden_state
        frames = features.shape[1]
        both = torch.cat([self.domain_emb, self.judge_emb], dim=1)
        joined = torch.cat([features, both.unsqueeze(1).expand(len(x), frames, -1)], dim=2)
        return self.projection(self.blstm(joined)[0]).mean(dim=(1, 2)) * 2 + 3
