"""Demo page of the module: ``python app.py`` here, or a Space."""

from pathlib import Path

import evaluate
import gradio as gr
from evaluate.utils.gradio import parse_readme
from vaeval_tasks.hosts.evaluate import preference as hub
from vaeval_tasks.errors import VaevalError

HERE = Path(__file__).resolve().parent
module = evaluate.load(str(HERE / "mos.py"), keep_in_memory=True)

EXAMPLE = """\
system,prompt,rater,score
x,p1,r1,5
x,p1,r2,4
x,p2,r1,4
y,p1,r1,2
y,p2,r2,3
"""


def score(table):
    try:
        return module.compute(**hub.pasted(table, tuple(module.features)))
    except VaevalError as error:
        raise gr.Error(str(error)) from error


demo = gr.Interface(
    fn=score,
    inputs=gr.Textbox(lines=12, max_length=1_000_000, label="Ratings (CSV)", value=EXAMPLE),
    outputs=gr.JSON(label="Result"),
    title="Mean opinion scores",
    description=module.description,
    article=parse_readme(HERE / "README.md"),
    api_name="score",
)

if __name__ == "__main__":
    demo.launch()
