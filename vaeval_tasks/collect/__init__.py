"""The rating app: people listen to responses and answer the rubrics; no answer may be lost or biased."""

from vaeval_tasks.errors import MissingDependencyError

_NEEDED = ("alembic", "fastapi", "itsdangerous", "python_multipart", "sqlalchemy", "starlette", "uvicorn")

MissingDependencyError.unless_here("the rating app", _NEEDED, extra="study")
