"""The reference speaker encoder: WeSpeaker ResNet34-LM in ONNX, on Kaldi filter banks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaeval_tasks.audio import Clip
from vaeval_tasks.errors import MissingWeightsError
from vaeval_tasks.files import sha256_file
from vaeval_tasks.metrics.common import each_clip, require, short, signature, unusable
from vaeval_tasks.services import weights

__all__ = ["WeSpeaker", "filter_bank"]

RATE = 16_000
MIN_SECONDS = 0.5
_FEATURE = "the WeSpeaker encoder"


class WeSpeaker:
    """Turn a voice into a vector of unit length with a WeSpeaker ONNX model (``feats`` [B, T, 80] in, ``embs`` out).

    Args:
        path: a local ``.onnx`` file; by default the Hub's ``voxceleb_resnet34_LM.onnx``, whose checksum is pinned.
        device: ``cpu`` or ``cuda``; by default CUDA where onnxruntime has it.
    """

    def __init__(self, *, path: str | Path | None = None, device: str | None = None) -> None:
        self._path = path
        self._device = device

    @cached_property
    def _file(self) -> Path:
        return weights.reference("wespeaker-resnet34-lm", path=self._path)

    @cached_property
    def signature(self) -> str:
        """Model, checksum and features."""
        return signature(
            "WeSpeaker", model=self._file.stem, weights=short(sha256_file(self._file)), features="kaldi-fbank80-cmn"
        )

    @cached_property
    def _session(self) -> Any:
        file = self._file
        runtime = require("onnxruntime", _FEATURE, extra="reference")
        wanted = ["CPUExecutionProvider"]
        if self._device != "cpu" and "CUDAExecutionProvider" in runtime.get_available_providers():
            wanted.insert(0, "CUDAExecutionProvider")
        errors = runtime.capi.onnxruntime_pybind11_state
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1  # see each_clip
        try:
            session = runtime.InferenceSession(str(file), options, providers=wanted)
        except (errors.InvalidProtobuf, errors.InvalidGraph, errors.Fail, errors.NotImplemented) as error:
            raise MissingWeightsError(f"{file}: cannot be read as an ONNX model ({error})") from None
        names = [i.name for i in session.get_inputs()], [o.name for o in session.get_outputs()]
        if names != (["feats"], ["embs"]):
            raise MissingWeightsError(f"{file}: not a WeSpeaker model: it has inputs {names[0]}, outputs {names[1]}")
        return session

    def ready(self) -> str:
        """Load the model, and return "": nothing is odd about it.

        Raises:
            MissingWeightsError: the weights are absent or another model's.
            MissingDependencyError: a package is not installed.
        """
        _ = self._session
        require("kaldi_native_fbank", _FEATURE, extra="reference")
        return ""

    def embed(self, clips: Sequence[Clip]) -> list[NDArray[np.float32] | None]:
        """Return a unit vector for each clip, None where it is silent or shorter than 0.5 s.

        Raises:
            MissingWeightsError: the model is missing, cannot be fetched, or is not a WeSpeaker model.
            MissingDependencyError: onnxruntime or kaldi-native-fbank is not installed.
        """
        return each_clip(self._one, clips, "voices", loaded=lambda: self._session)

    def _one(self, clip: Clip) -> NDArray[np.float32] | None:
        if unusable(clip, min_seconds=MIN_SECONDS):
            return None
        (embedding,) = self._session.run(["embs"], {"feats": filter_bank(clip.at(RATE).samples)[None]})[0]
        return np.asarray(embedding / np.linalg.norm(embedding), dtype=np.float32)


def filter_bank(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return Kaldi log-mel features (frames, 80) of (n,) samples at 16 kHz, their mean over time removed."""
    kaldi = require("kaldi_native_fbank", _FEATURE, extra="reference")
    options = kaldi.FbankOptions()
    options.frame_opts.samp_freq = RATE
    options.frame_opts.dither = 0.0
    options.frame_opts.window_type = "hamming"
    options.frame_opts.frame_length_ms = 25.0
    options.frame_opts.frame_shift_ms = 10.0
    options.frame_opts.snip_edges = True
    options.mel_opts.num_bins = 80
    options.use_energy = False
    options.energy_floor = 0.0
    bank = kaldi.OnlineFbank(options)
    bank.accept_waveform(RATE, (samples * 32768).tolist())
    bank.input_finished()
    frames = np.stack([bank.get_frame(i) for i in range(bank.num_frames_ready)])
    return np.asarray(frames - frames.mean(axis=0), dtype=np.float32)
