"""Demo page of the module: ``python app.py`` here, or a Space."""

from pathlib import Path

import evaluate
import gradio as gr
from evaluate.utils.gradio import parse_readme
from vaeval_tasks.hosts.evaluate import preference as hub
from vaeval_tasks.errors import VaevalError

HERE = Path(__file__).resolve().parent
module = evaluate.load(str(HERE / "rater_agreement.py"), keep_in_memory=True)

EXAMPLE = """\
unit,rater,score
u1,r1,2
u1,r2,1
u2,r1,-1
u2,r2,-2
u3,r1,0
u3,r2,0
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
    title="Agreement between raters",
    description=module.description,
    article=parse_readme(HERE / "README.md"),
    api_name="score",
)

if __name__ == "__main__":
    demo.launch()
