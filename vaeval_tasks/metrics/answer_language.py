"""Whether an answer is in a language that the rules can read: English, or too short to be any."""

from __future__ import annotations

import re
import unicodedata

from vaeval_tasks.metrics.spoken_text import plain

__all__ = ["readable"]

_ENGLISH = frozenset(
    (
        "the is are was were it it's its i i'm i'd you he she they we this that these those and or but not of to from "
        "with for by at on has have had do does did don't can't cannot can will would there there's what when which "
        "who yes think a an in as my your his her their be been answer option number about because so if than please "
        "sorry sure okay ok well way"
    ).split()
)
_FOREIGN = frozenset(
    (
        "der das ist nicht und ein eine einen ich es sind mit auf zu den dem wir er sie hat haben heißt kein "
        "keine leider kann weiß eins zwei drei vier fünf sechs sieben acht neun zehn zwölf ja nein uhr mal "
        "les est un une et je ne pas c'est des elle nous vous sont ont avec dans oui deux trois "
        "quatre cinq sept huit neuf dix bien sais "
        "una y por para que yo tiene ella uno tres cuatro cinco seis siete ocho nueve "
        "diez puedo esto eso muy ayudarte en "
        "gli che sono non della questo due quattro cinque sette otto nove dieci "
        "os uma um não eu ele ela são quatro sete oito posso "
        "het een niet ik dat zijn twee vijf zes zeven negen geen jest tak bir iki değil"
    ).split()
)
_PARTICLES = frozenset("von im le la du il el los las del con per di da de do em o van pour se si mais sur".split())
"""Words of other languages that stand in names and in English too; they tell something only beside others."""


def readable(answer: str, *, known: str = "") -> bool:
    """Whether the rules can read an answer.

    Args:
        answer: what was said.
        known: the reference, whose words tell nothing about the language of the answer.
    """
    text = plain(answer)
    letters = [c for c in text if c.isalpha()]
    if sum("LATIN" in unicodedata.name(c, "") for c in letters) < 0.8 * len(letters):
        return False
    seen = set(_words(known))
    words = [w for w in _words(text) if w not in seen]
    english = sum(w in _ENGLISH for w in _words(text))
    foreign = sum(w in _FOREIGN for w in words)
    foreign += sum(w in _PARTICLES for w in words) if foreign else 0
    accented = any(not c.isascii() for w in words for c in w)
    return foreign <= english and not (accented and not english)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)*", plain(text).lower())
