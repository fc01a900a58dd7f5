"""The rating app: people listen to responses and answer the rubrics; no answer may be lost or biased."""

from importlib.util import find_spec

from vaeval_tasks.errors import MissingDependencyError

for _package in ("alembic", "fastapi", "itsdangerous", "jinja2", "python_multipart", "sqlalchemy", "uvicorn"):
    if find_spec(_package) is None:
        raise MissingDependencyError("the rating app", _package.replace("_", "-"), extra="study")
