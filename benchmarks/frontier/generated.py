"""Errors on made tables: python -m benchmarks.frontier.generated [NAME ...].

Panels are trained on `--rows` rows of each table of `making`, in `--draws` draws, and
play 4,000 others by the policies `panels` (one list for all) and `worth` (own
questions). Means over the draws stand beside the error of who knows how the table was
made, and published figures. What is kept already is not measured again, unless named.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from askless.core.arrays import FloatArray
from askless.core.model.ensemble import Ensemble
from askless.core.panels.effort import EFFORTS
from askless.core.panels.ladders import fit_ladder
from askless.core.simulation.simulate import class_votes, simulate
from askless.core.table.dataset import Dataset
from askless.core.training.algorithms import make_ensemble
from askless.core.training.params import BoostParams, EffortName
from askless.core.work import run_to_end
from benchmarks import plots
from benchmarks.data import MICROS
from benchmarks.documents import ROOT, keep_rows
from benchmarks.frontier.making import MAKERS
from benchmarks.plots import Line, draw_panels

N_TEST = 4000
RESULTS = ROOT / "benchmarks" / "results" / "generated.json"
PICTURE = ROOT / "docs" / "figures" / "own_questions.svg"

# Numbers of questions by table.
QUESTIONS = {
    "indicator": (2, 3, 6, 11),
    "multiplexer": (3, 4, 6, 11),
    "cube_20": (1, 2, 3, 4, 5, 6, 8, 11),
    "cube_nm": (1, 2, 3, 4, 5, 6, 8, 11),
    "cube_nm_12": (2, 3, 5, 8, 12),
    **dict.fromkeys(("syn1", "syn2", "syn3"), (3, 5, 11)),
}

# Errors that others report by number of questions, of methods that do not know how the
# table was made: BRiG-AFA with 6,000 rows to train on.
PUBLISHED = {"cube_nm_12": {2: 0.310, 3: 0.269, 5: 0.200, 8: 0.112}}

# Tables that are drawn, and by line the place of its error in a row.
DRAWN = {"cube_20": "CUBE-20", "cube_nm": "CUBE-NM"}
DRAWN_ROWS = 1000
LINES = {
    "one list for all": (4, "orange", "-"),
    "own questions": (5, "blue", "-"),
    "exact": (7, "grey", "--"),
}
Row = list[object]


def measure_errors(
    ensemble: Ensemble, policy: str, testing: Dataset, questions: Sequence[int]
) -> FloatArray:
    """Return error and mean number of questions by budget; (n_budgets, 2)."""
    budgets = [n_questions * MICROS for n_questions in questions]
    walks = simulate(ensemble, testing.values, budgets, policy)
    is_wrong = class_votes(ensemble, walks) != testing.targets[:, None]
    return np.column_stack((is_wrong.mean(axis=0), walks.spent.mean(axis=0) / MICROS))


def play_draw(name: str, n_rows: int, effort: EffortName, seed: int) -> FloatArray:
    """Return errors of lists and own questions, questions asked, and the reference.

    (n_budgets, 4); the reference is NaN where it is not known.
    """
    random = np.random.default_rng(seed)
    training, _ = MAKERS[name](n_rows, random)
    testing, reference = MAKERS[name](N_TEST, random)
    ladder = run_to_end(fit_ladder(training, seed, effort=effort))
    ensemble = make_ensemble(training, BoostParams("panels"), ())
    ensemble = replace(ensemble, panels=ladder)
    questions = QUESTIONS[name]
    lists = measure_errors(ensemble, "panels", testing, questions)[:, 0]
    own = measure_errors(ensemble, "worth", testing, questions)
    exact = [reference(n_questions) for n_questions in questions]
    return np.column_stack((lists, own, exact))


def make_rows(name: str, n_rows: int, effort: EffortName, n_draws: int) -> list[Row]:
    """Return the means over draws by number of questions, as rows of the document."""
    drawn = [play_draw(name, n_rows, effort, seed) for seed in range(n_draws)]
    published = PUBLISHED.get(name, {})
    rows = []
    for n_questions, means in zip(QUESTIONS[name], np.mean(drawn, axis=0), strict=True):
        lists, own, asked, exact = means.tolist()
        figures = (lists, own, exact, published.get(n_questions, np.nan))
        shown = ["" if np.isnan(figure) else f"{figure:.3f}" for figure in figures]
        row = [name, n_rows, n_questions, n_draws, *shown[:2], f"{asked:.1f}"]
        rows.append([*row, *shown[2:]])
    return rows


def read_kept() -> list[Row]:
    """Return the rows that were kept."""
    return json.loads(RESULTS.read_text()) if RESULTS.is_file() else []


def draw_own_questions(rows: Sequence[Row], n_rows: int) -> Figure:
    """Draw errors by number of questions on two tables: lists, own questions, exact."""
    pictures = {}
    for name, title in DRAWN.items():
        of_table = [row for row in rows if row[:2] == [name, n_rows]]
        questions = np.array([row[2] for row in of_table], np.float64)
        pictures[f"{title}, {n_rows:,} rows"] = [
            Line(
                label,
                colour,
                questions,
                np.array([row[place] for row in of_table], np.float64),
                dashes,
            )
            for label, (place, colour, dashes) in LINES.items()
        ]
    return draw_panels(pictures, ("questions", "error"), shape=(2, len(LINES), 2.3))


def main() -> int:
    """Fill in errors by number of questions, and draw the picture."""
    parser = argparse.ArgumentParser(prog="benchmarks.frontier.generated")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MAKERS))
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--effort", choices=EFFORTS, default="fast")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in MAKERS]
    if unknown:
        parser.error(f"no such table: {', '.join(unknown)}; there are {[*MAKERS]}")
    kept = {(row[0], row[1]) for row in read_kept()}
    missing = [name for name in MAKERS if (name, given.rows) not in kept]
    for name in given.names or missing:
        rows = make_rows(name, given.rows, given.effort, given.draws)
        keep_rows("frontier", "generated", rows, n_keys=3)
        print(f"{name} done", file=sys.stderr, flush=True)
    plots.save(draw_own_questions(read_kept(), DRAWN_ROWS), PICTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
