"""The demo: train on real data with real prices, then meet unseen patients."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape

from askless.app.documents.files import load_spec
from askless.app.terminal.bar import run_with_bar
from askless.app.terminal.show import (
    build_curve_table,
    build_sessions_table,
    build_table,
    draw_curve_bars,
    summarise_model,
)
from askless.app.terminal.transcript import (
    print_end,
    print_question,
    print_standing,
    value_text,
)
from askless.app.uploads.streams import read_columns
from askless.app.words.facts import list_features
from askless.app.words.own_questions import N_PATIENTS, Picks, choose_cases
from askless.app.words.wording import money
from askless.core.arrays import FloatArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Model
from askless.core.pipeline.check import check_training
from askless.core.pipeline.progress import Training
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train
from askless.core.session import machine
from askless.core.session.answers import list_questions
from askless.core.session.state import Aim, Answer, Question, State
from askless.core.table.check import CheckedTable
from askless.core.table.dataset import Dataset

DATA = Path(__file__).resolve().parent.parent / "demo"
BUDGET = 220_000_000
# Easy cases lend their money to hard ones.
AIM = Aim(mean_budget=60_000_000)
# How the cases of `Picks` are called.
WORDS = ("An easy case", "A hard case", "A hard case that it gets wrong")


def run_demo(console: Console) -> Model:
    """Train without some patients, play easy and hard cases, show the curve."""
    dataset, rows, model = train_without_patients()
    unit = dataset.catalogue.cost_unit
    console.print(
        "[bold]Askless demo[/bold]: which heart test to order next? "
        f"{dataset.n_samples} patients (UCI Heart Disease, Cleveland), 13 tests, "
        "prices after Turney (1995).\n"
        "The group discounts of blood draw and exercise electrocardiogram are quoted "
        "from memory, unverified. Not for clinical use.\n"
    )
    read, unread = list_features(model)
    cells = read[0], [*read[1], *unread[1]]
    console.print(build_table("Features, most asked first", cells, (0, 1, 3)))
    console.print(escape(summarise_model(model)) + "\n")
    states = [play_session(model.ensemble, dataset.values[row], None) for row in rows]
    counts = [len(asked) for asked in list_asked_features(model.ensemble, states)]
    mean, most = money(AIM.mean_budget or 0, unit), money(BUDGET, unit)
    console.print(
        f"{len(rows)} patients were kept from training. With {mean} on average and "
        f"{most} at most, {describe_counts(counts)}."
    )
    picks = pick_shown(model.ensemble, states, dataset.targets[rows])
    for word, place in zip(WORDS, picks, strict=True):
        if place is None:
            continue
        row = int(rows[place])
        console.print(f"\n[bold]{word}[/bold], patient {place + 1} of {len(rows)}:")
        play_session(model.ensemble, dataset.values[row], console)
        truth = dataset.classes[int(dataset.targets[row])].display
        console.print(f"The diagnosis in the data: {escape(truth)}")
    console.print()
    sessions = build_sessions_table(model)
    if sessions is not None:
        console.print("With a budget alone, and no mean:")
        console.print(sessions)
    if model.curve is not None:
        console.print(build_curve_table(model.curve, unit))
        console.print(draw_curve_bars(model.curve, unit))
    return model


def load_demo() -> tuple[TrainingSpec, Dataset]:
    spec = load_spec(DATA / "heart.json")
    columns = read_columns(DATA / "heart.csv", spec.table.text_columns)
    return spec, check_training(columns, spec).dataset


def demo_training(spec: TrainingSpec, dataset: Dataset) -> Training:
    return train(CheckedTable(dataset, None, ()), spec)


def train_without_patients() -> tuple[Dataset, IntArray, Model]:
    """Train without some patients; return every row, theirs, and the model."""
    spec, dataset = load_demo()
    every = np.arange(dataset.n_samples)
    others = dataset.take(every[:-N_PATIENTS])
    return (
        dataset,
        every[-N_PATIENTS:],
        run_with_bar(demo_training(spec, others), "training"),
    )


def read_trained_rows(table: str) -> BytesIO:
    """Return a table without the patients that are kept from training, as CSV."""
    lines = (DATA / f"{table}.csv").read_bytes().splitlines(keepends=True)
    return BytesIO(b"".join(lines[:-N_PATIENTS]))


def list_asked_features(
    ensemble: Ensemble, states: Sequence[State]
) -> list[tuple[int, ...]]:
    """Return the features that each session was asked, one for each question."""
    catalogue = ensemble.catalogue
    return [list_questions(catalogue, state.history) for state in states]


def pick_shown(ensemble: Ensemble, states: Sequence[State], targets: IntArray) -> Picks:
    """Return which sessions of rows are shown."""
    labels = [machine.forecast(ensemble, state).label for state in states]
    is_right = [
        label == target for label, target in zip(labels, targets.tolist(), strict=True)
    ]
    return choose_cases(list_asked_features(ensemble, states), is_right)


def describe_counts(counts: Sequence[int]) -> str:
    """Return in words how many cases end after how many questions."""
    numbers, shares = np.unique(counts, return_counts=True)
    phrases = [
        f"{share} after {number}"
        for number, share in zip(numbers.tolist(), shares.tolist(), strict=True)
    ]
    return f"{', '.join(phrases)} questions"


def open_question(ensemble: Ensemble, state: State) -> Question | None:
    """Return the next question; None where the session ends or advises to stop."""
    if state.stop_reason is not None:
        return None
    return machine.next_question(ensemble, state)


def answer_from_row(question: Question, values: FloatArray) -> list[Answer]:
    """Return the answers of a row of a dataset; what is missing is not available."""
    return [
        Answer(idx, "unavailable")
        if np.isnan(values[idx])
        else Answer(idx, "value", float(values[idx]))
        for idx in question.feature_idxs
    ]


def play_session(
    ensemble: Ensemble, values: FloatArray, console: Console | None
) -> State:
    """Answer a session's questions from a row of a dataset; print it, if told where."""
    state = machine.start(ensemble, BUDGET, aim=AIM)
    while (question := open_question(ensemble, state)) is not None:
        answers = answer_from_row(question, values)
        if console is not None:
            print_question(console, ensemble, state, question)
            for answer in answers:
                console.print(f"   answer: {escape(describe_given(ensemble, answer))}")
        state = machine.observe(ensemble, state, answers)
        if console is not None:
            print_standing(console, ensemble, state)
    if console is not None:
        print_end(console, ensemble, state)
    return state


def describe_given(ensemble: Ensemble, answer: Answer) -> str:
    if answer.value is None:
        return "not available"
    return value_text(ensemble, answer.feature_idx, answer.value)
