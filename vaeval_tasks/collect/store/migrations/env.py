"""Run Alembic on the connection and the metadata that :mod:`vaeval_tasks.collect.store.database` hands over."""

from alembic import context

options = context.config.attributes
context.configure(
    connection=options["connection"],
    target_metadata=options["metadata"],
    render_as_batch=True,
    transactional_ddl=True,
    transaction_per_migration=False,
)
with context.begin_transaction():
    context.run_migrations()
