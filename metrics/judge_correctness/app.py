"""Demo page of the metric: ``python app.py`` here, or a Space."""

from pathlib import Path

import evaluate
import gradio as gr
from evaluate.utils.gradio import parse_readme
from vaeval_tasks.errors import VaevalError
from vaeval_tasks.metrics.content_judge import FAMILIES

HERE = Path(__file__).resolve().parent
metric = evaluate.load(str(HERE / "judge_correctness.py"), keep_in_memory=True)


def score(task, question, reference, answer):
    try:
        return metric.compute(
            predictions=[answer], references=[[reference] if reference else []], questions=[question], task=task
        )
    except VaevalError as error:
        raise gr.Error(str(error)) from error


demo = gr.Interface(
    fn=score,
    inputs=[
        gr.Dropdown(list(FAMILIES), label="Task"),
        gr.Textbox(label="Question"),
        gr.Textbox(label="Reference"),
        gr.Textbox(label="Answer"),
    ],
    outputs=gr.JSON(label="Result"),
    title="Judge correctness (offline backend: rules)",
    description=metric.description,
    article=parse_readme(HERE / "README.md"),
    api_name="score",
)

if __name__ == "__main__":
    demo.launch()
