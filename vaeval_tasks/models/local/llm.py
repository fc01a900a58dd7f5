"""A small language model on this machine, behind llama.cpp's OpenAI-compatible server on loopback."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vaeval_tasks.errors import MissingDependencyError, ServiceError
from vaeval_tasks.services.http.chat import ChatClient, ChatOptions
from vaeval_tasks.services.http.meaning import HttpMeaning
from vaeval_tasks.services.http.retry import RetryRule

__all__ = ["LocalLLM"]


class LocalLLM:
    """A GGUF model served in this process; ``base_url`` speaks the OpenAI chat protocol."""

    def __init__(self, weights: Path, *, threads: int = 2, context: int = 4096) -> None:
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
        params.offline = True
        params.use_jinja = True
        params.port = 0
        params.hostnames = ["127.0.0.1"]
        params.verbosity = -1
        self._server = xllamacpp.Server(params)
        self.base_url = f"{str(self._server.listening_address).rstrip('/')}/v1"
        options = ChatOptions(timeout_s=120.0, concurrency=1, retry=RetryRule(retries=0))
        self._client = ChatClient(self.base_url, options, who="the local language model", keys=())

    def chat(self, messages: Sequence[dict[str, str]], *, max_tokens: int, seed: int = 0) -> str:
        """Return the greedy continuation of a chat.

        Raises:
            ServiceError: the server gave no answer.
        """
        # a cached prefix changes the rounding, and so the words
        answer = self._client.ask(messages, max_tokens=max_tokens, seed=seed, cache_prompt=False)
        if answer.outcome.meaning not in (HttpMeaning.ok, HttpMeaning.cut, HttpMeaning.empty):
            raise ServiceError(f"the local language model gave no answer: {answer.reason}")
        return answer.text.strip()

    def close(self) -> None:
        """Stop the server."""
        self._client.close()
        self._server = None
