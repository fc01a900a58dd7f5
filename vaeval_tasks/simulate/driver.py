"""Simulated raters: programs that take a study through the real app, over HTTP, with known preferences.

They are never people: they can enter only a study that was started with ``--simulated``, and everything they
leave is marked so. They know a system by the sound of its clips, as the addresses do not tell.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import httpx
import numpy as np

from vaeval_tasks.audio import Clip, read_audio
from vaeval_tasks.errors import InputError, ServiceError
from vaeval_tasks.progress import tracked
from vaeval_tasks.services.http.secrets import trust
from vaeval_tasks.simulate.rater_preference import Preference
from vaeval_tasks.store.run import RunDir

__all__ = ["Outcome", "SimulatedRater", "TaskPage", "count_beeps", "drive", "sounds_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one simulated rater."""

    name: str
    tasks: int
    code: str
    """The completion code; empty where the rater stopped at its limit, or no task was left for it."""
    claim_ms: tuple[float, ...] = ()
    """How long the server took to give each task."""
    submit_ms: tuple[float, ...] = ()


class TaskPage(HTMLParser):
    """What a rater reads off the task page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.task: dict[str, str] = {}
        self.clips: dict[str, str] = {}
        self.parts: list[list[str]] = []
        self.fields: dict[str, str] = {}
        self.code = ""
        self._in_code = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what matters of an element."""
        have = {name: value or "" for name, value in attrs}
        if have.get("id") == "task":
            self.task = have
        elif have.get("class") == "clip":
            self.clips[have["data-part"]] = have["data-link"]
        elif have.get("class") == "part":
            self.parts.append([])
        elif have.get("class") == "question":
            self.parts[-1].append(have["data-key"])
        elif tag == "input" and have.get("type") == "hidden":
            self.fields[have["name"]] = have["value"]
        self._in_code = have.get("id") == "code"

    def handle_endtag(self, tag: str) -> None:
        """Leave the completion code."""
        self._in_code = False

    def handle_data(self, data: str) -> None:
        """Keep the completion code."""
        if self._in_code:
            self.code = data.strip()


def count_beeps(clip: Clip) -> int:
    """Return how many separate tones a clip holds: rises of the 10 ms envelope above a tenth of the peak."""
    block = clip.rate // 100
    whole = clip.samples[: len(clip.samples) // block * block].reshape(-1, block)
    loud = np.abs(whole).max(axis=1) > clip.peak / 10
    return int(np.sum(loud[1:] & ~loud[:-1]) + loud[0])


def sounds_of(run: RunDir) -> dict[str, str]:
    """Return the configuration of every response of a run by the hash of its samples."""
    answers = [(r.path, r.config_id) for r in run.responses() if r.path]
    return {
        read_audio(run.root / path).sha256: config_id
        for path, config_id in tracked(answers, "sounds", "clip", total=len(answers))
    }


@dataclass(slots=True, kw_only=True)
class SimulatedRater:
    """One simulated rater with its own connection and randomness."""

    url: str
    name: str
    preference: Preference
    sounds: Mapping[str, str]
    seed: int = 0
    limit: int | None = None
    """Tasks after which to stop, as if the browser was closed; None: to the end."""
    arrives: float = 0.0
    """Seconds after the start at which it enters."""
    _client: httpx.Client = field(init=False)
    _rng: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._client = httpx.Client(base_url=self.url, timeout=60.0, verify=trust())
        self._rng = random.Random(f"{self.seed}:{self.name}")  # noqa: S311 (a simulation)

    def run(self) -> Outcome:
        """Enter, take every task that is offered, and return what became of it.

        Raises:
            ServiceError: the server cannot be reached or refuses what a rater may do.
            InputError: a clip sounds like no response of the run.
        """
        claims: list[float] = []
        submits: list[float] = []
        code = ""
        time.sleep(self.arrives)
        try:
            with self._client:
                self._enter()
                while self.limit is None or len(submits) < self.limit:
                    start = time.perf_counter()
                    page = self._get("/task")
                    claims.append(1000 * (time.perf_counter() - start))
                    if not page.task:
                        code = page.code
                        break
                    submits.append(self._answer(page))
        except httpx.HTTPError as error:
            raise ServiceError(f"{self.url}: {type(error).__name__} {error}".strip()) from error
        return Outcome(name=self.name, tasks=len(submits), code=code, claim_ms=tuple(claims), submit_ms=tuple(submits))

    def _enter(self) -> None:
        self._check(self._client.post("/simulated/join", data={"name": self.name}))
        page = self._get("/study")
        if page.fields and "nonce" not in page.fields and not page.task:
            self._post_form("/consent", page)
            age, gender = self._rng.randint(18, 80), self._rng.choice(["woman", "man", "non-binary", ""])
            page = self._post_form("/about-you", page, age=str(age), gender=gender)
        if "nonce" in page.fields:
            nonce = page.fields["nonce"]
            beeps = read_audio(self._check(self._client.get(f"/sound-check/{nonce}.wav")).content)
            self._post_form("/sound-check", page, nonce=nonce, heard=str(count_beeps(beeps)))

    def _get(self, path: str) -> TaskPage:
        answer = self._client.get(path, follow_redirects=True)
        if answer.status_code == httpx.codes.CONFLICT:
            return TaskPage("")  # the study is full
        return TaskPage(self._check(answer).text)

    def _post_form(self, path: str, page: TaskPage, **values: str) -> TaskPage:
        data = {"csrf": page.fields["csrf"], **values}
        return TaskPage(self._check(self._client.post(path, data=data, follow_redirects=True)).text)

    def _check(self, answer: httpx.Response) -> httpx.Response:
        if answer.status_code >= httpx.codes.BAD_REQUEST:
            raise ServiceError(
                f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text[:200]}"
            )
        return answer

    def _answer(self, page: TaskPage) -> float:
        """Do one task; return how many ms the submit took."""
        base, token = f"/api/task/{page.task['data-token']}", {"X-CSRF-Token": page.task["data-csrf"]}

        def send(path: str, body: Any, **headers: str) -> httpx.Response:
            return self._client.post(f"{base}/{path}", json=body, headers=token | headers)

        clips = {
            part: read_audio(self._check(self._client.get(f"/clip/{link}")).content)
            for part, link in page.clips.items()
        }
        now = int(time.time() * 1000)
        played = [{"seq": n, "kind": "play", "at": now, "part": part} for n, part in enumerate(clips, 1)]
        self._check(send("events", played))
        ranges = {part: [[0.0, clip.seconds]] for part, clip in clips.items()}
        heard = send("listened", ranges)
        while heard.status_code == httpx.codes.UNPROCESSABLE_ENTITY and heard.json()["error"] == "too_fast":
            time.sleep(heard.json()["wait_ms"] / 1000)  # it listens
            heard = send("listened", ranges)
        self._check(heard)
        systems = [self._recognise(clips[part]) for part in ("left", "right") if part in clips]
        click = self.preference.task(systems[0], systems[1] if len(systems) > 1 else None, self._rng)
        answers: dict[str, dict[str, int]] = {}
        for number, keys in enumerate(page.parts, 1):
            section = {key: {"position": click(), "ms": self._rng.randint(1500, 9000)} for key in keys}
            answers |= section
            if number < len(page.parts):
                self._check(send(f"section/{number}", section))
        start = time.perf_counter()
        body = {"answers": answers, "comment": ""}
        self._check(send("submit", body, **{"Idempotency-Key": secrets.token_hex(16)}))
        return 1000 * (time.perf_counter() - start)

    def _recognise(self, clip: Clip) -> str:
        if clip.sha256 not in self.sounds:
            raise InputError(
                "a clip sounds like no response of the run; give the run that is served (without --loudness)"
            )
        return self.sounds[clip.sha256]


def drive(
    url: str,
    preference: Preference,
    sounds: Mapping[str, str],
    *,
    raters: int,
    seed: int,
    limit: int | None = None,
    ramp: float = 0.0,
) -> list[Outcome]:
    """Let ``raters`` simulated raters take a study at the same time; return what became of each, by name.

    They enter one after the other over ``ramp`` seconds.

    Raises:
        ServiceError: the server cannot be reached or refuses; raters that are under way finish their requests.
        InputError: a clip sounds like no response of the run.
    """
    crowd = [
        SimulatedRater(
            url=url,
            name=f"simulated-{n:03}",
            preference=preference,
            sounds=sounds,
            seed=seed,
            limit=limit,
            arrives=ramp * n / raters,
        )
        for n in range(raters)
    ]
    with ThreadPoolExecutor(max_workers=raters) as pool:
        futures = [pool.submit(one.run) for one in crowd]
        ended = tracked(as_completed(futures), "simulated raters", "rater", total=raters)
        return sorted((future.result() for future in ended), key=lambda outcome: outcome.name)
