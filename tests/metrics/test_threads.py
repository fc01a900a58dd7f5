"""The real offline scorers give one number for any number of threads, and for any clips that come together."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from vaeval_tasks import paths
from vaeval_tasks.audio import Clip, read_audio
from vaeval_tasks.metrics.common import each_clip
from vaeval_tasks.metrics.distillmos import DistillMos
from vaeval_tasks.metrics.resemblyzer import Resemblyzer

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def role_voices() -> list[Clip]:
    """Two of seconds each: of the first the LSTM's sums differ between one thread and two."""
    (file,) = paths.sample_dir().rglob("test_speaking_roleplay.parquet")
    rows = pq.read_table(file).to_pylist()[:2]
    return [read_audio(row["role_audio"]) for row in rows]


def test_threads_and_company_change_nothing(role_voices: list[Clip]) -> None:
    before = torch.get_num_threads()
    speaker, speech = Resemblyzer(), DistillMos()
    found = []
    try:
        for threads, order in ((1, 1), (2, 1), (4, -1)):
            torch.set_num_threads(threads)
            voices, scores = speaker.embed(role_voices[::order])[::order], speech.score(role_voices[::order])[::order]
            assert torch.get_num_threads() == threads
            found.append(([v.tobytes() for v in voices if v is not None], [s.value for s in scores]))
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1] == found[2]
    assert len(found[0][0]) == 2
    alone = speaker.embed(role_voices[1:])[0]
    assert alone is not None
    assert alone.tobytes() == found[0][0][1]


def test_weights_load_once_and_only_where_there_is_sound(tone: Clip) -> None:
    loads: list[int] = []
    silent = Clip(tone.samples * 0, tone.rate)
    score = lambda clip: float(abs(clip.samples).max())  # noqa: E731 - of one line
    assert each_clip(score, [silent] * 3, "x", loaded=lambda: loads.append(1)) == [0.0] * 3
    assert loads == []
    assert each_clip(score, [tone, silent], "x", loaded=lambda: loads.append(1)) == pytest.approx([0.5, 0.0])
    assert loads == [1]


def test_an_error_of_one_clip_is_the_error(tone: Clip, tmp_path: Path) -> None:
    def fails(clip: Clip) -> float:
        raise ValueError("no weights")

    with pytest.raises(ValueError, match="no weights"):
        each_clip(fails, [tone] * 3, "x", loaded=lambda: None)
