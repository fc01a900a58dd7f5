"""The published study's figures, as the planted truth of simulated studies.

Source: DAI-S2S-ST (David AI, 2026-09-17): tables 1 to 3, A1, A2, A9, A10, the Ara-Rex table and the
rubric gates implied by A2. ``published.csv`` beside this module is table A10.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.models import configs
from vaeval_tasks.rubrics import KEYS
from vaeval_tasks.store.schema import ModelConfig
from vaeval_tasks.store.sheets import read_sheet

__all__ = [
    "AGE_BANDS",
    "CATEGORIES",
    "CONFIGS",
    "DEGRADED_PROMPTS",
    "DIFFICULTIES",
    "GATE_SHARES",
    "IN_BOTH_POOLS",
    "MODELS",
    "POOL",
    "TIE_THRESHOLDS",
    "VOICE_MARGINS",
    "PoolCell",
    "elo_matrix",
    "mos_matrix",
]

MODELS: tuple[str, ...] = (
    "GPT-Realtime 2.1",
    "GPT-Realtime 2.0",
    "Gemini 3.1 Flash Live",
    "Grok voice-think-fast 2.0",
    "Nova 2 Sonic",
    "Cascade",
    "Qwen3-Omni-30B-A3B-Instruct",
)
"""The seven systems, best first (table 1)."""

CONFIGS: tuple[ModelConfig, ...] = tuple(
    sorted(configs.published().values(), key=lambda c: (MODELS.index(c.model), c.thinking not in ("minimal", "none")))
)
"""The 19 configurations by model, the lower thinking level first, as ``vaeval configs list`` knows them."""

DIFFICULTIES: dict[str, int] = {"L1": 156, "L2": 157, "L3": 160, "L4": 156, "L5": 145}
DEGRADED_PROMPTS = 45

CATEGORIES: tuple[str, ...] = (
    "task help",
    "information",
    "advice",
    "emotional talk",
    "learning",
    "planning",
    "creative",
    "social chat",
    "entertainment",
    "reasoning",
    "instructions",
)
"""Eleven consumer categories. The study has eleven and does not name them: these names are ours."""

GATE_SHARES: dict[str, float] = {"emotional_appropriateness": 0.282, "instruction_following": 0.179, "reasoning": 0.275}
"""The share of prompts that a gated rubric applies to: its units in table A2 over 5,653."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolCell:
    """One cell of table A1: how many raters of a gender and age band took part in each collection."""

    gender: str
    band: str
    mos: int
    cmos: int


AGE_BANDS: tuple[str, ...] = ("18-25", "26-35", "36-45", "46-55", "56-65", "65+")
_A1 = {
    "M": ((23, 33, 28, 19, 14, 4), (25, 42, 33, 28, 14, 3)),
    "F": ((12, 25, 31, 27, 29, 2), (12, 27, 32, 29, 29, 4)),
    "Other": ((1, 3, 0, 0, 0, 0), (1, 3, 0, 1, 0, 0)),
}
POOL: tuple[PoolCell, ...] = tuple(
    PoolCell(gender=gender, band=band, mos=mos[i], cmos=cmos[i])
    for gender, (mos, cmos) in _A1.items()
    for i, band in enumerate(AGE_BANDS)
)
IN_BOTH_POOLS = 166

# Ara's margin over Rex in CMOS points. One point of margin is about one logit of strength (A7 over A10).
VOICE_MARGINS: dict[str, float] = {
    "overall": 0.93,
    "conversational_register": 0.81,
    "engagement": 0.76,
    "emotional_appropriateness": 0.72,
    "naturalness": 0.98,
    "pleasantness": 1.03,
    "response_quality": 0.32,
    "instruction_following": 0.40,
    "reasoning": 0.36,
    "perceived_audio_quality": 0.19,
    "pronunciation_accuracy": 0.18,
    "voice_consistency": 0.14,
}

# Cut points of the seven answers (logits), chosen so that simulated Gwet AC2 comes near table A2:
# the overall question has few ties, pronunciation about 60 %.
TIE_THRESHOLDS: dict[str, tuple[float, float, float]] = {
    "overall": (0.25, 0.85, 1.60),
    "conversational_register": (0.90, 1.60, 2.50),
    "engagement": (0.80, 1.50, 2.40),
    "emotional_appropriateness": (0.70, 1.40, 2.20),
    "naturalness": (0.95, 1.70, 2.60),
    "pleasantness": (0.90, 1.60, 2.50),
    "response_quality": (0.90, 1.60, 2.50),
    "instruction_following": (1.00, 1.80, 2.70),
    "reasoning": (1.10, 1.90, 2.80),
    "perceived_audio_quality": (1.30, 2.10, 3.10),
    "pronunciation_accuracy": (2.20, 3.00, 4.00),
    "voice_consistency": (1.50, 2.30, 3.30),
}


@cache
def _matrix(column: str) -> NDArray[np.float64]:
    out = np.zeros((len(KEYS), len(MODELS)))
    sheet = read_sheet(Path(__file__).with_name("published.csv"))
    for row in sheet.records(sheet.names, required=sheet.names):
        out[KEYS.index(row.text("rubric")), MODELS.index(row.text("model"))] = row.real(column)
    out.setflags(write=False)
    return out


def elo_matrix() -> NDArray[np.float64]:
    """Return table A10's CMOS Elo, rubrics by models, in the order of ``KEYS`` and ``MODELS``."""
    return _matrix("elo")


def mos_matrix() -> NDArray[np.float64]:
    """Return table A10's sample-averaged MOS, rubrics by models, on the 1 to 5 scale."""
    return _matrix("mos")
