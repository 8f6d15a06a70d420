"""The kinds of jobs that apply a model to a table: a new kind is one more entry."""

from app.batch.evaluate_jobs import EVALUATE
from app.batch.learn_jobs import LEARN
from app.batch.predict_jobs import PREDICT
from app.batch.table_kind import TableKind

TABLE_KINDS: dict[str, TableKind] = {
    "predict": PREDICT,
    "evaluate": EVALUATE,
    "learn": LEARN,
}
