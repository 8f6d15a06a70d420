"""The kinds of jobs that apply a model to a table: a new kind is one more entry."""

from askless.app.batch.evaluate_jobs import EVALUATE
from askless.app.batch.learn_jobs import LEARN
from askless.app.batch.predict_jobs import PREDICT
from askless.app.batch.table_kind import TableKind

TABLE_KINDS: dict[str, TableKind] = {
    "predict": PREDICT,
    "evaluate": EVALUATE,
    "learn": LEARN,
}
