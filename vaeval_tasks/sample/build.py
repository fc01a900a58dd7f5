"""Make the embedded sample data set: ``python -m vaeval_tasks.sample.build [FOLDER]``.

It renders ``items.yaml`` with the offline voices into parquet files in the schema and layout of the Hub
data set ``MathLLMs/VoiceAssistant-Eval``: audio cells are the bytes of whole WAV files (PCM16, mono,
16 kHz), and unused cells are empty bytes. It needs ``flite`` and Piper (``vaeval weights pull offline``).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from vaeval_tasks.audio import Clip, wav_bytes
from vaeval_tasks.files import atomic_path
from vaeval_tasks.models.local.voices import Voice, open_voice
from vaeval_tasks.paths import sample_dir
from vaeval_tasks.sample import images, sounds

__all__ = ["MAX_IMAGES", "MAX_TURNS", "build", "hub_schema"]

MAX_TURNS = 7
MAX_IMAGES = 5
ROLE_LINE = "Hello there. This is the voice that I would like you to use, when you answer my question today."


def hub_schema() -> pa.Schema:
    """Return the Arrow schema of the Hub data set, the same in every config."""
    text, texts = pa.string(), pa.list_(pa.string())
    extra = pa.struct(
        [
            ("user_audio_transcripts", texts),
            ("raw_question", text),
            ("raw_options", texts),
            ("role_name", text),
            ("user_audio_emotion", text),
        ]
    )
    return pa.schema(
        [
            *((name, text) for name in ("id", "category1", "category2", "system_prompt")),
            *((name, pa.binary()) for name in ("role_audio", "sound_audio")),
            *((f"user_audio_{i}", pa.binary()) for i in range(MAX_TURNS)),
            *((f"image_{i}", pa.binary()) for i in range(MAX_IMAGES)),
            ("ref_answers", texts),
            ("extra", extra),
        ]
    )


class _Studio:
    """The voices, each opened once."""

    def __init__(self) -> None:
        self._voices: dict[str, Voice] = {}

    def say(self, text: str, voice: str) -> Clip:
        if voice not in self._voices:
            self._voices[voice] = open_voice(voice)
        return self._voices[voice].say(text).at(sounds.RATE)

    def sound(self, spec: str | dict[str, str] | None) -> bytes:
        if spec is None:
            return b""
        clip = getattr(sounds, spec)() if isinstance(spec, str) else self.say(spec["say"], spec["voice"])
        return wav_bytes(clip)

    def close(self) -> None:
        for voice in self._voices.values():
            voice.close()


def _row(config: str, index: int, item: dict[str, Any], studio: _Studio) -> dict[str, Any]:
    family, _, task = config.partition("_")
    category = task.title().replace(" ", "_")
    spoken = [studio.say(turn, item.get("voice", "joe")) for turn in item["turns"]]
    if "noise_db" in item:
        spoken = [sounds.with_noise(clip, item["noise_db"], seed=index) for clip in spoken]
    pictures = [getattr(images, name)() for name in item.get("images", [])]
    role = item.get("role_voice")
    return {
        "id": f"{family.title()}_{category}_{index}",
        "category1": family.title(),
        "category2": category,
        "system_prompt": item.get("system", ""),
        "role_audio": wav_bytes(studio.say(ROLE_LINE, role)) if role else b"",
        "sound_audio": studio.sound(item.get("sound")),
        **{f"user_audio_{i}": wav_bytes(spoken[i]) if i < len(spoken) else b"" for i in range(MAX_TURNS)},
        **{f"image_{i}": pictures[i] if i < len(pictures) else b"" for i in range(MAX_IMAGES)},
        "ref_answers": item.get("references", []),
        "extra": {
            "user_audio_transcripts": item["turns"],
            "raw_question": item.get("raw_question", item["turns"][0]),
            "raw_options": item.get("options", []),
            "role_name": item.get("role", ""),
            "user_audio_emotion": item.get("emotion", ""),
        },
    }


def build(folder: Path) -> list[Path]:
    """Render every config into ``folder/<family>/test_<config>.parquet``; return the files."""
    configs: dict[str, list[dict[str, Any]]] = yaml.safe_load(
        Path(__file__).with_name("items.yaml").read_text(encoding="utf-8")
    )
    studio, written = _Studio(), []
    try:
        for config, items in configs.items():
            rows = [_row(config, index, item, studio) for index, item in enumerate(items)]
            target = folder / config.partition("_")[0] / f"test_{config}.parquet"
            with atomic_path(target) as temporary:
                pq.write_table(pa.Table.from_pylist(rows, schema=hub_schema()), temporary, compression="zstd")
            written.append(target)
    finally:
        studio.close()
    return written


if __name__ == "__main__":
    for file in build(Path(sys.argv[1]) if len(sys.argv) > 1 else sample_dir()):
        print(f"{file}: {file.stat().st_size / 1e3:.0f} kB")
