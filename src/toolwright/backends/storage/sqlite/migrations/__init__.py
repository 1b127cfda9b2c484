"""The history of the database's tables, run by alembic."""
