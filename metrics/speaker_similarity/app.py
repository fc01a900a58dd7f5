"""Demo page of the metric: ``python app.py`` here, or a Space."""

from pathlib import Path

import evaluate
import gradio as gr
from evaluate.utils.gradio import parse_readme
from vaeval_tasks.services import weights
from vaeval_tasks.errors import VaevalError

HERE = Path(__file__).resolve().parent
metric = evaluate.load(str(HERE / "speaker_similarity.py"), keep_in_memory=True)


def score(clip, voice):
    if clip is None or voice is None:
        raise gr.Error("Record or upload both clips first.")
    try:
        return metric.compute(predictions=[clip], references=[voice])
    except VaevalError as error:
        raise gr.Error(str(error)) from error


demo = gr.Interface(
    fn=score,
    inputs=[gr.Audio(type="filepath", label="A voice"), gr.Audio(type="filepath", label="Another, or the same")],
    outputs=gr.JSON(label="Result"),
    title="Speaker similarity (offline backend: Resemblyzer)",
    description=metric.description,
    article=parse_readme(HERE / "README.md"),
    api_name="score",
)

if __name__ == "__main__":
    weights.pull_offline("resemblyzer")
    demo.launch()
