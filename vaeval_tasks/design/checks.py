"""Pairs that test the raters: repeats, traps, gold and training. None of them enters a fit.

A trap shows the same clip twice. Gold shows a clip beside a worse copy: at 8 kHz with noise at 5 dB SNR, or
the answer to another prompt. The worse copy stands under a configuration of its own, ``check/…``, so that it
is looked up like any other response. Source: ITU-T P.808 (gold and trapping questions); ``collect.md`` 5.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import cycle, islice
from typing import Any

from vaeval_tasks.design.expect import ALIKE, wins
from vaeval_tasks.design.plan import DesignSettings, in_strata_order, shuffled, stratum
from vaeval_tasks.errors import InputError
from vaeval_tasks.store.schema import CHECK_PREFIX, Pair, PairKind, Prompt, slug

__all__ = ["Checks", "Worse", "WorseCopy", "check_pairs", "repeat_pairs", "training_pairs"]


class Worse(StrEnum):
    """How the worse clip of a gold pair was made."""

    noisy = "noisy"
    other_prompt = "other-prompt"


DECIDES = {Worse.noisy: "perceived_audio_quality", Worse.other_prompt: "response_quality"}
"""The rubric on which the untouched clip must win by 2 or more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorseCopy:
    """A clip that a gold pair needs beside the untouched one."""

    prompt_id: str
    config_id: str
    """The configuration of the untouched clip."""
    worse: Worse
    source_prompt_id: str
    """The prompt whose response is heard: for ``other-prompt`` another one, of another category if there is one."""

    @property
    def check_id(self) -> str:
        """The configuration the copy stands under."""
        return f"{CHECK_PREFIX}{self.worse}/{slug(self.config_id)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """Check pairs, and the clips to make for them."""

    pairs: tuple[Pair, ...]
    copies: tuple[WorseCopy, ...] = ()


def repeat_pairs(main: Sequence[Pair], settings: DesignSettings) -> list[Pair]:
    """Return the pairs of a wave that their raters get a second time, with the sides swapped."""
    chosen = shuffled((pair.pair_id for pair in main), settings.seed, "repeat")
    kept = set(chosen[: round(settings.repeat_share * len(main))])
    again = [pair for pair in main if pair.pair_id in kept]
    return [
        replace(pair, pair_id=f"w{pair.wave}-repeat-{n:05d}", kind=PairKind.repeat, left_is_a=not pair.left_is_a)
        for n, pair in enumerate(again, 1)
    ]


def _copy(ordered: Sequence[Prompt], prompt: Prompt, config: str, worse: Worse) -> WorseCopy:
    source = prompt
    if worse is Worse.other_prompt:
        # half the set away in the order of the strata, so of another category wherever there are several
        source = ordered[(ordered.index(prompt) + len(ordered) // 2) % len(ordered)]
    return WorseCopy(prompt_id=prompt.prompt_id, config_id=config, worse=worse, source_prompt_id=source.prompt_id)


def _beside(copy: WorseCopy, prompt: Prompt, *, pair_id: str, **fields: Any) -> Pair:
    """Return the pair of the untouched clip and its worse copy, with the answer it must get."""
    a, b = sorted((copy.config_id, copy.check_id))
    expect = (wins(copy.config_id, copy.check_id, DECIDES[copy.worse]),)
    return Pair(pair_id=pair_id, prompt_id=prompt.prompt_id, a=a, b=b, stratum=stratum(prompt), expect=expect, **fields)


def check_pairs(
    main: Sequence[Pair], prompts: Iterable[Prompt], configs: Iterable[str], settings: DesignSettings, *, gold: bool
) -> Checks:
    """Return a trap or gold pair for every ``check_every`` pairs of a wave, spread over prompts and configurations.

    Args:
        main: the main pairs of the wave.
        prompts: the prompts of the study.
        configs: configurations whose clips may be used.
        settings: the design's settings.
        gold: whether the responses' audio is there, to make worse copies of; else every check is a trap.

    Raises:
        InputError: there are fewer responses than checks.
    """
    if not main or not settings.check_every:
        return Checks(pairs=())
    ordered, wave = in_strata_order(prompts), main[0].wave
    by_id = {p.prompt_id: p for p in ordered}
    order = shuffled(by_id, settings.seed, "check prompts", wave)
    names = shuffled(configs, settings.seed, "check configs", wave)
    count = -(-len(main) // settings.check_every)
    if count > len(order) * len(names):
        raise InputError(f"{count} check pairs are more than there are responses; ask for fewer of them")
    kinds = (None, *Worse) if gold and len(ordered) > 1 else (None,)
    pairs, copies = [], []
    for i, worse in enumerate(islice(cycle(kinds), count)):
        prompt = by_id[order[i % len(order)]]
        config = names[(i % len(order) + i // len(order)) % len(names)]
        # the side changes once a turn of the kinds: it must not give the kind away
        rest: dict[str, Any] = {"wave": wave, "slots": settings.raters_per_pair, "left_is_a": i // len(kinds) % 2 == 0}
        if worse is None:
            rest |= {"a": config, "b": config, "stratum": stratum(prompt), "expect": (ALIKE,)}
            trap_id = f"w{wave}-trap-{i + 1:05d}"
            pairs.append(Pair(pair_id=trap_id, prompt_id=prompt.prompt_id, kind=PairKind.trap, **rest))
        else:
            copies.append(_copy(ordered, prompt, config, worse))
            pairs.append(_beside(copies[-1], prompt, pair_id=f"w{wave}-gold-{i + 1:05d}", kind=PairKind.gold, **rest))
    return Checks(pairs=tuple(pairs), copies=tuple(copies))


def training_pairs(
    prompts: Iterable[Prompt], configs: Iterable[str], settings: DesignSettings, *, gold: bool
) -> Checks:
    """Return the practice pairs, the same for every rater.

    A noisy copy and a wrong answer come first, so that raters meet the ends of the scale, then ordinary
    pairs of prompts from all over the strata.
    """
    ordered = in_strata_order(prompts)
    names = shuffled(configs, settings.seed, "training")
    worse = [*Worse] if gold and len(ordered) > 1 else []
    pairs, copies = [], []
    for i in range(settings.training):
        prompt = ordered[(2 * i + 1) * len(ordered) // (2 * settings.training)]
        rest: dict[str, Any] = {"kind": PairKind.train, "slots": 0, "left_is_a": i % 2 == 0}
        pair_id = f"w1-train-{i + 1:05d}"
        if i < len(worse):
            copies.append(_copy(ordered, prompt, names[i % len(names)], worse[i]))
            pairs.append(_beside(copies[-1], prompt, pair_id=pair_id, **rest))
        else:
            a, b = sorted((names[i % len(names)], names[(i + 1) % len(names)]))
            pairs.append(Pair(pair_id=pair_id, prompt_id=prompt.prompt_id, a=a, b=b, stratum=stratum(prompt), **rest))
    return Checks(pairs=tuple(pairs), copies=tuple(copies))
