"""Demo page of the metric: ``python app.py`` here, or a Space."""

from pathlib import Path

import evaluate
import gradio as gr
from evaluate.utils.gradio import parse_readme
from vaeval_tasks.errors import VaevalError

HERE = Path(__file__).resolve().parent
metric = evaluate.load(str(HERE / "modified_wer.py"), keep_in_memory=True)


def score(text, transcript):
    try:
        return metric.compute(predictions=[text], references=[transcript])
    except VaevalError as error:
        raise gr.Error(str(error)) from error


demo = gr.Interface(
    fn=score,
    inputs=[gr.Textbox(label="The response's text"), gr.Textbox(label="Transcript of its speech")],
    outputs=gr.JSON(label="Result"),
    title="Modified WER",
    description=metric.description,
    article=parse_readme(HERE / "README.md"),
    api_name="score",
)

if __name__ == "__main__":
    demo.launch()
