"""The databases of a collection: tables, migrations, import of a design, copies, what was collected."""
