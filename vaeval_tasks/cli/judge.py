"""``vaeval judge``: an audio-capable chat model rates the pairs of a run."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from vaeval_tasks.cli.sources import FiniteRange

__all__ = ["judge"]


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--model", required=True, help="The model's name at the endpoint.")
@click.option("--url", required=True, help="The endpoint's base, such as http://127.0.0.1:8000/v1.")
@click.option("--rubric", "rubrics", multiple=True, metavar="KEY", help="Only this question; may be repeated.")
@click.option("--pairs", type=click.IntRange(min=1), help="Only so many pairs, drawn by --seed.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--audio-part",
    type=click.Choice(["input_audio", "audio_url"]),
    default="input_audio",
    show_default=True,
    help="How the endpoint takes sound.",
)
@click.option("--max-tokens", type=click.IntRange(min=1), default=1024, show_default=True)
@click.option("--concurrency", type=click.IntRange(1, 1000), default=4, show_default=True)
@click.option("--timeout", type=FiniteRange(min=0, min_open=True), default=180.0, show_default=True, help="Seconds.")
@click.option("--retry-malformed", is_flag=True, help="Ask again where the last answer was malformed.")
def judge(
    run: Path,
    model: str,
    url: str,
    rubrics: tuple[str, ...],
    pairs: int | None,
    seed: int,
    audio_part: str,
    max_tokens: int,
    concurrency: int,
    timeout: float,
    retry_malformed: bool,
) -> None:
    """Let a chat model that hears answer the rubric questions on the pairs of a run, each pair in both orders.

    Its ratings go to judge_ratings.parquet, apart from people's; `vaeval agree RUN` sets the two side by side.
    The key is read from VAEVAL_JUDGE_API_KEY, else OPENAI_API_KEY. The same command again goes on where it stopped.

    Example: vaeval judge RUN --model gpt-audio --url https://api.openai.com/v1 --pairs 500
    """
    from tqdm import tqdm

    from vaeval_tasks.errors import ServiceError
    from vaeval_tasks.judging.instructions import AudioPart
    from vaeval_tasks.judging.judge_pairs import PairJudgeSettings, judge_pairs
    from vaeval_tasks.rubrics import rubric
    from vaeval_tasks.services.http.chat import ChatClient, ChatOptions
    from vaeval_tasks.store.lock import Writer, writing
    from vaeval_tasks.store.run import RunDir

    settings = PairJudgeSettings(
        rubrics=tuple(rubric(key).key for key in rubrics),
        pairs=pairs,
        seed=seed,
        audio_part=AudioPart(audio_part),
        retry_malformed=retry_malformed,
    )
    folder = RunDir.existing(run)
    click.get_current_context().with_resource(writing(folder.root, Writer.judge))
    options = ChatOptions(model=model, max_tokens=max_tokens, concurrency=concurrency, timeout_s=timeout)
    client = ChatClient(url, options, say=lambda text: tqdm.write(text, file=sys.stderr))
    try:
        with tqdm(desc="judge", unit="request", disable=None) as bar:
            done = judge_pairs(folder, client, settings, progress=bar.update)
    finally:
        client.close()
    click.echo(
        f"{done.judge_id}: {done.ok} answered, {done.malformed} malformed, {done.unanswered} without an answer, "
        f"{done.resumed} from before; {done.skipped} pairs without audio left out; {done.ratings} ratings in all"
    )
    for reason, times in done.reasons[:5]:
        click.echo(f"  malformed {times} times: {reason}")
    if done.stopped:
        raise ServiceError(
            f"{done.unanswered} requests got no answer ({done.stopped}); run the same command again to go on"
        )
    if done.unanswered:
        click.echo(
            f"  {done.unanswered} requests got no answer although the judge is there; the same command asks again"
        )
