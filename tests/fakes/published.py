"""Reads the "Model Configuration Details" of DAI-S2S-ST: one section a configuration, its parameters in loose JSON."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TEXT = Path(__file__).resolve().parent.parent / "data" / "model_configurations.md"
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|<[^>]*>|[{}\[\],]|[\w.+-]+://[^\s,}\]]+|[\w.()+-]+(?:\([\w,]*\)[\w.]*)?:?|:')
PROSE = re.compile(r"(Supported voices|Output audio|Input audio|No system-prompt input): ")


@dataclass(frozen=True)
class Section:
    """One published configuration."""

    title: str
    simplified: str
    system_prompt: str
    parameters: dict[str, Any]


class Reader:
    """A reader of ``key: value`` pairs, with or without commas between them."""

    def __init__(self, text: str) -> None:
        self.tokens = TOKEN.findall(text)
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def pairs(self, end: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self.peek() != end:
            key = self.take()
            assert key.endswith(":"), f"{key!r} is not a key"
            found[key[:-1]] = self.value()
            if self.peek() == ",":
                self.take()
        self.take()
        return found

    def value(self) -> Any:
        token = self.take()
        if token == "{":
            return self.pairs("}")
        if token == "[":
            items = []
            while self.peek() != "]":
                items.append(self.value())
                if self.peek() == ",":
                    self.take()
            self.take()
            return items
        if token.startswith('"'):
            return token[1:-1].replace('\\"', '"')
        words = {"null": None, "true": True, "false": False}
        return words[token] if token in words else int(token) if token.isdigit() else token


def parameters(text: str) -> dict[str, Any]:
    """Read the "Full parameters" of a section."""
    text = PROSE.split(text)[0]
    text = re.sub(r"# maxTokens / topP / temperature all unset", "", text)
    text = re.sub(r'(?<=") \([^)]*\)', "", text)  # remarks such as (OpenAI)
    text = text.replace("contentStart(SYSTEM,TEXT) + textInput.content", "textInput.content")
    text = text.replace("contentStart(USER,AUDIO).", "contentStart.")
    return Reader(text).pairs("")


def sections() -> list[Section]:
    """Return the published configurations in order."""
    blocks = re.split(r"^## ", TEXT.read_text(encoding="utf-8"), flags=re.MULTILINE)[2:]
    found = []
    for block in blocks:
        title, *lines = [line.strip() for line in block.splitlines() if line.strip()]
        items = [line.removeprefix("- ") for line in lines]
        value = dict(zip(items[::2], items[1::2], strict=True))
        found.append(
            Section(title, value["Config (simplified)"], value["System prompt"], parameters(value["Full parameters"]))
        )
    return found
