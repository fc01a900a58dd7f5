"""A small language model on this machine, behind llama.cpp's OpenAI-compatible server on loopback."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vaeval_tasks.errors import MissingDependencyError, ServiceError
from vaeval_tasks.services.http.chat import ChatAnswer, ChatClient, ChatOptions
from vaeval_tasks.services.http.meaning import HttpMeaning
from vaeval_tasks.services.http.retry import RetryRule

__all__ = ["LocalLLM"]

CANDIDATES = 20
"""First tokens that are weighed."""


class LocalLLM:
    """A GGUF model served in this process; ``base_url`` speaks the OpenAI chat protocol.

    Args:
        weights: the file.
        threads: of the processor.
        context: tokens of question and answer together.
        timeout_s: seconds for one answer.

    Raises:
        MissingDependencyError: the ``offline`` extra is not installed.
        ServiceError: the model cannot be loaded.
    """

    def __init__(self, weights: Path, *, threads: int = 2, context: int = 4096, timeout_s: float = 120.0) -> None:
        try:
            import xllamacpp
        except ImportError:
            raise MissingDependencyError("the local language model", "xllamacpp", extra="offline") from None
        params = xllamacpp.CommonParams()
        params.model.path = str(weights)
        params.n_ctx = context
        params.n_parallel = 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.warmup = False
        params.cache_ram_mib = 0
        params.offline = True
        params.use_jinja = True
        params.port = 0
        params.hostnames = ["127.0.0.1"]
        params.verbosity = -1
        try:
            self._server = xllamacpp.Server(params)
        except RuntimeError as error:  # cut off, another format, or no memory
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise ServiceError(f"the local language model {weights} cannot be loaded: {reason}") from error
        self.base_url = f"{str(self._server.listening_address).rstrip('/')}/v1"
        self._start: Sequence[dict[str, str]] = ()
        options = ChatOptions(timeout_s=timeout_s, concurrency=1, retry=RetryRule(retries=0))
        self.client = ChatClient(self.base_url, options, who="the local language model", keys=())

    def chat(self, messages: Sequence[dict[str, str]], *, max_tokens: int, seed: int = 0) -> str:
        """Return the greedy continuation of a chat.

        Raises:
            ServiceError: the server gave no answer.
        """
        # a cached prefix changes the rounding, and so the words
        answer = self.client.ask(messages, max_tokens=max_tokens, seed=seed, cache_prompt=False)
        if answer.outcome.meaning not in (HttpMeaning.ok, HttpMeaning.cut, HttpMeaning.empty):
            raise ServiceError(f"the local language model gave no answer: {answer.reason}")
        return answer.text.strip()

    def weigh(self, start: Sequence[dict[str, str]], question: str) -> ChatAnswer:
        """Return the first token of the answer to a question, with the likeliest candidates in ``first_token``.

        The messages that all questions begin with are computed once. What the server keeps is led back to exactly
        these before each question, by an empty one: a kept part of another length changes the rounding, and with it
        the last digits of the probabilities.

        Args:
            start: the messages before the question.
            question: what the user says last, not empty.
        """
        empty = self.client.ask([*start, _user("")], max_tokens=1, cache_prompt=start == self._start)
        if not empty.reached:
            return empty
        self._start = start
        return self.client.ask(
            [*start, _user(question)], max_tokens=1, cache_prompt=True, logprobs=True, top_logprobs=CANDIDATES
        )

    def close(self) -> None:
        """Stop the server."""
        self.client.close()
        self._server = None


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}
