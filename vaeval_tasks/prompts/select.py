"""Choose one take of every script, and say why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from vaeval_tasks.prompts.examine import Examined
from vaeval_tasks.prompts.manifest import Script
from vaeval_tasks.prompts.review import Review, TakeVerdict
from vaeval_tasks.prompts.take_findings import Finding, Take
from vaeval_tasks.store.schema import Condition

__all__ = ["Selection", "select"]

Reviews = Mapping[tuple[str, str], Review]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A script with its takes; the first of ``order`` is the chosen one."""

    script: Script
    takes: tuple[Take, ...]
    """In the order of the manifest."""
    chosen: Examined | None
    """None where no take is usable."""


def select(scripts: Sequence[Script], examined: Sequence[Examined], reviews: Reviews) -> list[Selection]:
    """Choose a take for every script, in the order of the manifest."""
    return [_selection(s, [e for e in examined if e.script.script_id == s.script_id], reviews) for s in scripts]


def _selection(script: Script, items: list[Examined], reviews: Reviews) -> Selection:
    judged = [replace(item, take=_reviewed(item.take, reviews)) for item in items]
    usable = sorted((item for item in judged if item.take.accepted), key=_rank)
    best = usable[0] if usable else None
    takes = []
    for item in judged:
        if item is best:
            chosen = replace(item.take, chosen=True, reason=_why(usable, len(judged)))
            best = replace(item, take=chosen)
            takes.append(chosen)
        elif item.take.accepted:
            takes.append(replace(item.take, reason="usable, another take was chosen"))
        else:
            takes.append(replace(item.take, reason=_why_not(item.take)))
    return Selection(script=script, takes=tuple(takes), chosen=best)


def _reviewed(take: Take, reviews: Reviews) -> Take:
    review = reviews.get((take.script_id, take.take))
    passed = not any(Finding(f).rejects for f in take.findings)
    if review is None:
        return replace(take, accepted=passed)
    # what cannot be read cannot be used, whoever says so
    accepted = review.verdict is not TakeVerdict.reject and Finding.unreadable not in take.findings
    said = ": ".join(part for part in (f"{review.verdict} by {review.reviewer or 'the reviewer'}", review.note) if part)
    return replace(take, accepted=accepted, reviewer=review.reviewer, verdict=review.verdict.value, reason=said)


def _rank(item: Examined) -> tuple[bool, int, float, float]:
    """Order of usable takes: the reviewer's choice, fewest findings, fewest word errors, least noise (clean takes)."""
    take = item.take
    wer = round(take.wer, 2) if take.wer is not None else 0.0
    noise = -round(take.snr_db or 0.0) if item.script.condition is Condition.clean else 0.0
    return take.verdict != TakeVerdict.choose, len(take.findings), wer, noise


def _why(usable: Sequence[Examined], total: int) -> str:
    best = usable[0].take
    if best.verdict == TakeVerdict.choose:
        return best.reason
    if len(usable) == 1:
        why = "the only take" if total == 1 else f"the only usable one of {total} takes"
        return f"{why} ({best.reason})" if best.reason else why
    second = usable[1].take
    places = zip(_rank(usable[0]), _rank(usable[1]), ("", "findings", "wer", "snr"), strict=True)
    decided = next((name for one, other, name in places if one != other), "")
    reasons = {
        "findings": f"fewer findings than {second.take} ({len(best.findings)} against {len(second.findings)})",
        "wer": f"fewer word errors than {second.take} ({best.wer or 0:.2f} against {second.wer or 0:.2f})",
        "snr": f"less noise than {second.take} (SNR {best.snr_db or 0:.0f} against {second.snr_db or 0:.0f} dB)",
    }
    return reasons.get(decided, f"first of {len(usable)} equally good takes")


def _why_not(take: Take) -> str:
    ruled_out = [d for f, d in zip(take.findings, take.detail, strict=True) if Finding(f).rejects]
    return take.reason if take.verdict == TakeVerdict.reject else "; ".join(ruled_out)
