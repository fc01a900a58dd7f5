"""What a judge model finally says: its reasoning taken away, and one label or none.

Written after replies that other evaluation frameworks read wrongly (NeMo Gym#3367, NeMo Evaluator#1094, evals#1712,
inspect_ai#4026 and #4283, FastChat#3921, verifiers#2072, HELM#4349). The rule is one: **only what is said for sure
counts**. A label stands in brackets (``[Correct]``, also bold, boxed in LaTeX, in a code fence, or as the value of a
JSON key) at the very end, alone in its sentence or after words that announce a verdict and nothing else. Labels that
are quoted, negated, asked about, offered as a choice, or contradicted by another verdict are none: the caller may ask
again, and nothing is made up.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

__all__ = ["LabelReading", "final_text", "json_objects", "read_label"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelReading:
    """The label that a reply ends with, in lower case; "" with the reason where there is none."""

    label: str = ""
    reason: str = ""


# --- reasoning ---------------------------------------------------------------------------------------------------

_TAG = r"(?:think|thinking|thoughts?|reasoning|reason|reflection|analysis|scratchpad|seed:think)"
_OPENS = re.compile(
    rf"<{_TAG}(?:\s[^<>]*)?>|<details\s[^<>]*reasoning[^<>]*>|◁think▷|\[THINK\]|<\|begin_of_thought\|>"
    r"|<\|START_THINKING\|>|<unused94>|^\s*Here(?: is|'s) my thought process:",
    re.IGNORECASE,
)
_CLOSES = re.compile(
    rf"</{_TAG}\s*>|</details\s*>|◁/think▷|\[/THINK\]|<\|end_of_thought\|>|<\|END_THINKING\|>|<unused95>"
    r"|Here(?: is|'s) my response:",
    re.IGNORECASE,
)
_FINAL = re.compile(r"<\|channel\|>\s*final\b[^<]*(?:<\|[^|>]*\|>[^<]*)?<\|message\|>")
_BARE_FINAL = re.compile(r"^\s*analysis(?=\S).*?assistantfinal", re.DOTALL)
_BARE_ANALYSIS = re.compile(r"^\s*analysis(?=[A-Z\"'*])")
_CONTROL = re.compile(r"<[|｜][\w▁ :/-]{1,40}[|｜]>|</s>|<(?:end|start)_of_turn>", re.IGNORECASE)


def final_text(text: str) -> str:
    """Return what a model says after its reasoning; "" where the reasoning has no end.

    Understands tags (``<think>`` and its like, also where only the closing one is sent), the channels of gpt-oss, and
    markers of other families. What stands before or between pieces of reasoning is part of it.
    """
    text = html.unescape(text)
    if "<|channel|>" in text:
        finals = list(_FINAL.finditer(text))
        text = text[finals[-1].end() :] if finals else ""
    elif leaked := _BARE_FINAL.match(text):  # the same with its special tokens lost on the way
        text = text[leaked.end() :]
    elif _BARE_ANALYSIS.match(text):
        return ""
    ends = list(_CLOSES.finditer(text))
    said = text[ends[-1].end() :] if ends else text
    return "" if _OPENS.search(said) else _CONTROL.sub("", said).strip()


# --- JSON --------------------------------------------------------------------------------------------------------

_KEYS = frozenset(
    "verdict final_verdict finalverdict judgment judgement final_judgment final_judgement decision final_decision "
    "label grade rating evaluation conclusion".split()
)
"""The keys whose value is a verdict; ``answer`` is not among them: it may be what was judged."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key comes twice")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)


def json_objects(text: str) -> list[tuple[int, int, dict[str, Any]]]:
    """Return the JSON objects in a text that are in no other one: start, end and content.

    What is broken, or names a key twice, is no object; nor is anything inside it.
    """
    found, at = [], text.find("{")
    while at >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
            found.append((at, end, value))
        except (ValueError, RecursionError):
            end = at + 1
        at = text.find("{", end)
    return found


def _verdict_of(content: dict[str, Any], labels: Sequence[str]) -> str:
    """Return the label of an object's verdict, "" where it has none or several."""
    values = [value for key, value in content.items() if key.strip().lower().replace(" ", "_") in _KEYS]
    said = {str(value).strip(" \t[].*").lower() for value in values}
    return said.pop() if len(said) == 1 and said <= set(labels) else ""


def _with_brackets(text: str, labels: Sequence[str]) -> str:
    """Write ``[label]`` in the place of each JSON object that is a verdict."""
    for start, end, content in reversed(json_objects(text)):
        if label := _verdict_of(content, labels):
            text = f"{text[:start]}[{label}]{text[end:]}"
    return text


# --- plain text --------------------------------------------------------------------------------------------------

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_HTML = re.compile(
    r"</?(?:b|strong|em|i|u|p|br|hr|span|div|center|font|code|pre|h[1-6]|answer|verdict|judge?ment|decision|final"
    r"|final_?answer|final_?verdict|output|result|response|label|grade)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[\w+-]*[ \t]*$", re.MULTILINE)
_RULE = re.compile(r"^[ \t|:=_*-]*(?:-{3,}|={3,}|\*{3,}|_{3,})[ \t|:=_*-]*$", re.MULTILINE)
_ITEM = re.compile(r"^[ \t*_]*(?:[*+•–-]|\(?\d{1,2}[.)]|\(?[A-Za-z][.)])[ \t]+", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]*", re.MULTILINE)
_READ_CHARS = 20_000
"""So much of the end of a reply is read."""
_BREAK = "\x1e"
"""Where a list item or a heading begins."""


@dataclass(frozen=True, slots=True)
class _Patterns:
    """What is looked for, for one set of labels."""

    boxed: re.Pattern[str]
    mention: re.Pattern[str]
    announced: re.Pattern[str]
    alone: re.Pattern[str]


@lru_cache(maxsize=8)
def _patterns(labels: tuple[str, ...]) -> _Patterns:
    one_of = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    inner = rf"(?:(?:final\s+)?(?:verdict|judge?ment)\s*[:=]\s*)?({one_of})\s*[.!]?"
    style = r"\\(?:text|textbf|textit|texttt|mathrm|mathbf|bf)\s*\{?\s*"
    return _Patterns(
        boxed=re.compile(
            rf"\\(?:boxed|fbox)\s*\{{\s*(?:{style}|\[\s?){{0,4}}({one_of})\s*\.?[\]\s]{{0,6}}\}}(?:[\]\s]{{0,6}}\}})?",
            re.IGNORECASE,
        ),
        mention=re.compile(rf"(?:\[\s?){{1,4}}{inner}(?:\s?\]){{1,4}}", re.IGNORECASE),
        announced=re.compile(rf"^({_ANNOUNCING})({one_of})(\s*[.!]*\s*)$", re.IGNORECASE | re.MULTILINE),
        alone=re.compile(rf"(?:^|[.!:\n])\s?({one_of})\s?[.!]", re.IGNORECASE),
    )


def _plain(text: str, seek: _Patterns) -> str:
    """Return a text without markup; labels stand as ``[label]``."""
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).replace("【", "[").replace("】", "]")
    text = seek.boxed.sub(r"[\1]", text.replace("\r\n", "\n").replace("$", ""))
    text = _HTML.sub("\n", text.replace("\\[", "[").replace("\\]", "]").replace("\\(", "").replace("\\)", ""))
    text = _RULE.sub("", _FENCE.sub("", text))
    text = _HEADING.sub(_BREAK, _ITEM.sub(_BREAK, text))
    text = re.sub(r"[*_`|]", " ", text)
    return re.sub(r"[ \t]+", " ", text).strip()


# --- words that announce a verdict -------------------------------------------------------------------------------

_SO = (
    "so|thus|therefore|hence|overall|finally|accordingly|consequently|in conclusion|in summary|to conclude|as a result"
    "|based on (?:this|that|the above)|given (?:this|that|the above)"
    "|daher|also|somit|deshalb|donc|ainsi|par conséquent|por (?:lo )?tanto|portanto|quindi|pertanto|dus|следовательно"
    "|поэтому|таким образом|итак|因此|所以|综上(?:所述)?|綜上(?:所述)?|故|したがって|よって|따라서|그러므로"
    "|لذلك|إذن|इसलिए"
)
_LAST = (
    "final|overall|nihai|finale?s?|endgültige[rs]?|définitif|definitiv[oa]|fina[il]e?s?|окончательн\\w+|итогов\\w+|финальн\\w+"
    "|最终|最終|최종|النهائي|अंतिम"
)
_NOUN = (
    "verdict|judge?ment|decision|conclusion|assessment|evaluation|grade|rating|ruling|final answer"
    "|urteil|bewertung|fazit|entscheidung|jugement|évaluation|décision|veredicto|conclusión|evaluación|juicio|decisión"
    "|veredito|conclusão|avaliação|decisão|verdetto|giudizio|conclusione|valutazione|oordeel|eindoordeel|conclusie"
    "|werdykt|ocena|wniosek|вердикт|вывод|оценка|заключение|решение|итог|karar|sonuç|değerlendirme"
    "|判定|结论|結論|判断|裁决|裁決|判决|评判|評判|评价|評価|判決|判斷|판정|결론|평가|판단|الحكم|النتيجة|التقييم|निर्णय|निष्कर्ष|फैसला"
    "|kết luận|phán quyết|đánh giá|putusan|kesimpulan|penilaian|omdöme|slutsats|bedömning"
)
_MY = "my|the|our|mein|das|unser|mon|le|la|mi|el|o|il|a|het|мой|我的|私の|最终的?|最後の|이|هذا|đây là|यह"
_IS = "is|ist|est|es|é|è|är|jest|это|是|为|為|は|を|은|는|로|هو|है|là|adalah"
_ANNOUNCING = (
    rf"[ \t{_BREAK}]*(?:(?:{_SO})\s*[,，、:]?\s*(?:(?:ist|is)\s+)?)?(?:(?:{_MY}|das)\s*)?(?:(?:{_LAST})\s*)?(?:{_NOUN})"
    rf"(?:\s*(?:{_LAST}))?\s*(?:(?:{_IS})(?!\w))?\s*(?:[:=]|[-–—→=]+>?)?\s*"
)
_LEAD = re.compile(rf"(?:{_ANNOUNCING}|(?:{_SO})\s*[,，、:]?|→|=+>|-+>)\s*", re.IGNORECASE)
_JUDGED = re.compile(
    rf"(?:(?:{_SO})\s*,?\s*)?(?:the|this)\s+(?:(?:voice\s+)?(?:assistant|model|candidate)(?:'s|’s)\s+)?(?:final\s+)?"
    r"(?:answer|response|reply|dialogue)\s+is\s+(?:(?:therefore|thus|hence|clearly|indeed)\s+)?",
    re.IGNORECASE,
)
_ABBREVIATED = re.compile(r"(?:\b[a-z]\. ?[a-z]|\b(?:eg|ie|ex|vs|cf|viz|bzw|resp|approx|etc|zb))\.$", re.IGNORECASE)
_STOP = re.compile(rf"(?<=[.!])(?<!\.\.)\s+|(?<=[。।۔])\s*|{_BREAK}")
_UNFINISHED = re.compile(
    r"(?:[?？؟,，、;–—→-]|\b(?:or|and|either|with|not|oder|und|nicht|ou|et|pas|o|y|no|e))$", re.IGNORECASE
)
_PARAGRAPH = re.compile(r"\n\s*\n")


def _sentence(before: str) -> str:
    """Return the words between the end of the last sentence and a label, on one line."""
    pieces: list[str] = []
    at = 0
    for stop in _STOP.finditer(before):
        if stop[0] != _BREAK and _ABBREVIATED.search(before[: stop.start()]):
            continue
        pieces.append(before[at : stop.start()])
        at = stop.end()
    return " ".join(before[at:].split())


def _announced(before: str) -> bool:
    """Whether what stands before a label lets it be a verdict: nothing in its sentence, or an announcement."""
    paragraphs = _PARAGRAPH.split(before)
    lead, earlier = _sentence(paragraphs[-1]), "\n\n".join(paragraphs[:-1]).rstrip()
    if lead:
        return bool(_LEAD.fullmatch(lead) or _JUDGED.fullmatch(f"{lead} "))
    above = (paragraphs[-1].replace(_BREAK, " ").rstrip() or earlier).replace(_BREAK, " ").rstrip()
    if above.endswith(":"):
        return bool(_LEAD.fullmatch(_sentence(_PARAGRAPH.split(above)[-1])))
    return not _UNFINISHED.search(above)


def _quoted(before: str) -> bool:
    """Whether a quotation that was begun has not ended."""
    pairs = (("“", "”"), ("«", "»"), ("「", "」"), ("『", "』"))
    opened = any(before.count(a) > before.count(b) for a, b in pairs)
    return opened or before.count('"') % 2 == 1


def _asserted(text: str, found: re.Match[str]) -> bool:
    """Whether a label that stands before the last one is a verdict, or an option on a line of its own."""
    before, after = text[: found.start()], text[found.end() :].lstrip(" ")
    if after.startswith("?"):
        return False
    if not after or after[0] == "\n" or after.startswith(_BREAK):
        return True
    return _announced(before) if _sentence(_PARAGRAPH.split(before)[-1]) else after[0] in ".!。"


def read_label(text: str, labels: Sequence[str]) -> LabelReading:
    """Return the one label that a reply ends with.

    Args:
        text: the whole reply, with its reasoning.
        labels: all words that are verdicts here, in lower case, those of other questions too.
    """
    said = final_text(text)
    if not said:
        return LabelReading(reason="its reasoning has no end" if text.strip() else "it is empty")
    seek = _patterns(tuple(labels))
    plain = _plain(_with_brackets(said[-_READ_CHARS:], labels), seek)
    if plain.strip(f" .!{_BREAK}").lower() in labels:
        return LabelReading(label=plain.strip(f" .!{_BREAK}").lower())
    plain = seek.announced.sub(r"\1[\2]\3", plain)
    mentions = list(seek.mention.finditer(plain))
    if not mentions:
        return LabelReading(reason="it names none")
    last = mentions[-1]
    label, before = last[1].lower(), plain[: last.start()]
    if plain[last.end() :].strip(" .!。\n"):
        return LabelReading(reason="more follows the last one that it names")
    if _quoted(before) or not _announced(before):
        return LabelReading(reason="the last one that it names is not stated for sure")
    others = [m for m in mentions[:-1] if m[1].lower() != label]
    if any(m[1].lower() != label for m in seek.alone.finditer(before)):
        return LabelReading(reason="it names more than one")
    alone = not _sentence(_PARAGRAPH.split(before)[-1])
    beside = _PARAGRAPH.split(plain[: last.start()])[-1].rpartition("\n")[2]
    if any(_asserted(plain, other) for other in others) or (alone and any(o[0] in beside for o in others)):
        return LabelReading(reason="it names more than one")
    return LabelReading(label=label)
