"""Two doors to one asking loop: a study, and a document of lm-eval. As a program it is one run that can be killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import harness_fakes

from vaeval_tasks.asking.ledger import open_for_asking
from vaeval_tasks.asking.pending import make_plan
from vaeval_tasks.asking.runner import generate
from vaeval_tasks.audio import write_wav
from vaeval_tasks.hosts.lm_eval.model import SpeechLM
from vaeval_tasks.models.clock import Clock
from vaeval_tasks.models.protocol import Reply, Retry
from vaeval_tasks.store.run import RunDir
from vaeval_tasks.store.schema import ModelConfig, Prompt, ResponseStatus

CONFIG = ModelConfig(
    model="tone", provider="chat_audio", connection={"timeouts": {"turn": 1.0}, "sessions": 1, "base_url": "http://x"}
)
CLOCK = Clock(500)
PROMPTS = ("p0", "p1", "p2")


def events(number: int) -> tuple[dict, ...]:
    return ({"ns": number, "direction": "received", "message": {"number": number}},)


class Misbehaving:
    """Answers each request with a tone, but the one with this number as it is told to."""

    sees = True

    def __init__(self, how: str = "", at: int = 0, *, root: Path | None = None) -> None:
        self.how, self.at, self.root, self.asked = how, at, root, []

    async def respond(self, conversation, config) -> Reply:
        self.asked.append(conversation.turns[-1].audio[-1].stem)
        number = len(self.asked)
        if number == self.at:
            if self.how == "busy":
                return Reply(status=ResponseStatus.error, error="busy", retry=Retry(), events=events(number))
            if self.how == "defect":
                raise AttributeError("'str' object has no attribute 'get'")
            if self.how == "hang":
                await asyncio.Event().wait()
            if self.how == "interrupt":
                os.kill(os.getpid(), signal.SIGINT)
                await asyncio.Event().wait()
            if self.how == "kill":
                log = self.root / "responses.jsonl"
                while not log.is_file() or b"\n" not in log.read_bytes():  # what came before is there
                    await asyncio.sleep(0.001)
                os.kill(os.getpid(), signal.SIGKILL)
        tone = harness_fakes.tone(300, 0.05)
        return Reply(status=ResponseStatus.ok, text="hi", audio=tone, events=events(number), usage={"tokens": 3})

    async def close(self) -> None:
        raise RuntimeError("closing fails too")


class MisbehavingLM(SpeechLM):
    clock = CLOCK

    def __init__(self, *, system: Misbehaving, **common) -> None:
        self.system = system
        super().__init__(config=CONFIG, **common)

    def open(self) -> Misbehaving:
        return self.system


def clips(folder: Path) -> dict[str, Path]:
    """Make one clip for each prompt."""
    found = {name: folder / "audio" / "prompts" / f"{name}.wav" for name in PROMPTS}
    for number, path in enumerate(found.values()):
        if not path.is_file():
            write_wav(path, harness_fakes.tone(400 + number))
    return found


def study(root: Path, system: Misbehaving) -> None:
    """Ask as ``vaeval generate`` does."""
    run = RunDir(root)
    prompts = [
        Prompt(prompt_id=name, category="chat", difficulty="L1", path=str(path.relative_to(root)))
        for name, path in clips(root).items()
    ]
    run.write("prompts", prompts, made_by="test")
    plan = make_plan(run, [CONFIG], retry_failed=True)
    with open_for_asking(run) as ledger:
        generate(ledger, plan, open_system=lambda _: system, clock=CLOCK, quiet=True)


def lm_eval(root: Path, system: Misbehaving) -> None:
    """Ask as ``vaeval lm-eval`` does."""
    empty = {"question": "", "references": [], "system_prompt": "", "role_audio": "", "user_emotion": "", "images": []}
    docs = [
        {**empty, "item_id": name, "task": "speaking_safety", "revision": "1", "turns": [[str(path)]]}
        for name, path in clips(root).items()
    ]
    lm = MisbehavingLM(system=system, run_dir=str(root))
    lm.generate_until([SimpleNamespace(doc=doc, args=("text", {"until": []})) for doc in docs], disable_tqdm=True)


DOORS = {"study": study, "lm_eval": lm_eval}

if __name__ == "__main__":
    _, door, folder = sys.argv
    DOORS[door](Path(folder), Misbehaving("kill", 2, root=Path(folder)))
