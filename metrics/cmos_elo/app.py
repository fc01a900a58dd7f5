"""Demo page of the module: ``python app.py`` here, or a Space."""

from pathlib import Path

import evaluate
import gradio as gr
from evaluate.utils.gradio import parse_readme
from vaeval_tasks.hosts.evaluate import preference as hub
from vaeval_tasks.errors import VaevalError

HERE = Path(__file__).resolve().parent
module = evaluate.load(str(HERE / "cmos_elo.py"), keep_in_memory=True)

EXAMPLE = """\
a,b,score,rater,prompt
x,y,1,r1,p1
x,y,2,r2,p1
y,z,1,r1,p2
x,z,3,r2,p2
y,x,1,r1,p3
z,y,1,r2,p3
x,z,0,r1,p4
z,y,-1,r2,p4
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
    title="Elo from graded preferences",
    description=module.description,
    article=parse_readme(HERE / "README.md"),
    api_name="score",
)

if __name__ == "__main__":
    demo.launch()
