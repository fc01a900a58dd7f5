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
        "der das ist nicht und ein eine einen ich es sind von mit auf zu im den dem wir er sie hat haben heißt kein "
        "keine leider kann weiß eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf ja nein uhr euro "
        "le les est un une et je ne pas c'est des du il elle nous vous sont ont avec pour dans oui non deux trois "
        "quatre cinq sept huit neuf dix bien très sais l'hiver l'été "
        "el los las una y del con por para que yo son tiene ella sí uno dos tres cuatro cinco seis siete ocho nueve "
        "diez puedo esto eso muy ayudarte capital "
        "il gli che è sono con per non di della questo due tre quattro cinque sei sette otto nove dieci "
        "o os as é um uma não de em do da eu ele ela são dois três quatro sete oito nove dez posso "
        "het een niet en ik van dat zijn twee drie vijf zes zeven negen tien geen "
        "jest nie to tak jeden dwa trzy cztery pięć bir iki üç değil ve bu "
        "la les aux sur mais comme"
    ).split()
)
_BOTH = _ENGLISH | frozenset("do as to capital on me so is in an was war die man has son or as dos sur".split())


def readable(answer: str, *, known: str = "") -> bool:
    """Whether the rules can read an answer.

    Args:
        answer: what was said.
        known: the question and the references; their words tell nothing about the language of the answer.
    """
    text = plain(answer)
    letters = [c for c in text if c.isalpha()]
    if sum("LATIN" in unicodedata.name(c, "") for c in letters) < 0.8 * len(letters):
        return False
    seen = set(_words(known)) if known else set()
    words = _words(text)
    english = sum(w in _ENGLISH for w in words)
    foreign = sum(w in _FOREIGN and w not in _BOTH for w in words)
    accented = sum(any(not c.isascii() for c in w) for w in words if w not in seen)
    if foreign > english:
        return False
    return not (accented and not english)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)*", plain(text).lower())
