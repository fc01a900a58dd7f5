"""Demo page of the metric: ``python app.py`` here, or a Space."""

from pathlib import Path

import evaluate
import gradio as gr
from evaluate.utils.gradio import parse_readme
from vaeval_tasks.services import weights
from vaeval_tasks.errors import VaevalError

HERE = Path(__file__).resolve().parent
metric = evaluate.load(str(HERE / "utmos.py"), keep_in_memory=True)


def score(clip):
    if clip is None:
        raise gr.Error("Record or upload a clip first.")
    try:
        return metric.compute(predictions=[clip])
    except VaevalError as error:
        raise gr.Error(str(error)) from error


demo = gr.Interface(
    fn=score,
    inputs=gr.Audio(type="filepath", label="Speech"),
    outputs=gr.JSON(label="Result"),
    title="Predicted speech quality (offline backend: Distill-MOS)",
    description=metric.description,
    article=parse_readme(HERE / "README.md"),
    api_name="score",
)

if __name__ == "__main__":
    weights.pull_offline("distillmos")
    demo.launch()
