"""The trainings are the queue: those of the library before it go with its tables.

Trainings that are queued or running go on as they are. After a downgrade those still
queued are in no queue; cancel them and start them again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None
# The code before has its queue in the library's tables.
oldest_code = "0002"

# As DBOS 3.4 makes them in an SQLite file; on PostgreSQL they are in the schema dbos.
TABLES = (
    "application_versions",
    "dbos_migrations",
    "event_dispatch_kv",
    "notifications",
    "operation_outputs",
    "queues",
    "streams",
    "workflow_events",
    "workflow_events_history",
    "workflow_input",
    "workflow_output",
    "workflow_schedules",
    "workflow_status",
)


def upgrade() -> None:
    op.execute("ALTER TABLE trainings RENAME COLUMN executor_id TO holder")
    if op.get_bind().dialect.name == "sqlite":
        for table in TABLES:
            op.execute(f"DROP TABLE IF EXISTS {table}")
    elif not is_shared():
        op.execute("DROP SCHEMA IF EXISTS dbos CASCADE")


def is_shared() -> bool:
    """Whether another application keeps its work in the schema dbos too."""
    connection = op.get_bind()
    if not sa.inspect(connection).has_table("workflow_status", schema="dbos"):
        return False
    others = "SELECT 1 FROM dbos.workflow_status WHERE name IS DISTINCT FROM 'train'"
    return connection.execute(sa.text(f"{others} LIMIT 1")).first() is not None


def downgrade() -> None:
    op.execute("ALTER TABLE trainings RENAME COLUMN holder TO executor_id")
