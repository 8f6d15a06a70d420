"""The demo: train on real data with real prices, then meet two patients."""

from io import BytesIO
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape

from askless.app.documents.files import load_spec
from askless.app.terminal.show import (
    curve_bars,
    curve_table,
    model_summary,
    price_table,
    run_with_bar,
    sessions_table,
)
from askless.app.terminal.transcript import (
    describe_value,
    print_end,
    print_question,
    print_standing,
)
from askless.app.uploads.streams import read_columns
from askless.app.words.wording import money
from askless.core.arrays import FloatArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Model
from askless.core.pipeline.check import check_training
from askless.core.pipeline.progress import Training
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train
from askless.core.session import machine
from askless.core.session.state import Aim, Answer, State
from askless.core.simulation.simulate import walk
from askless.core.table.check import CheckedTable
from askless.core.table.dataset import Dataset

DATA = Path(__file__).resolve().parent.parent / "demo"
# Any rows would do; these are the last patients of the table.
N_PATIENTS = 12
BUDGET = 220_000_000
# Easy cases lend their money to hard ones.
AIM = Aim(mean_budget=60_000_000)
# After so many questions the easy case of the two ends, if one of them does.
FEW_QUESTIONS = 2


def run_demo(console: Console) -> Model:
    """Train without some patients, play an easy and a hard case, show the curve."""
    dataset, rows, model = train_apart()
    unit = dataset.catalogue.cost_unit
    console.print(
        "[bold]Askless demo[/bold]: which heart test to order next? "
        f"{dataset.n_samples} patients (UCI Heart Disease, Cleveland), 13 tests, "
        "prices after Turney (1995).\n"
        "The group discounts of blood draw and exercise electrocardiogram are quoted "
        "from memory, unverified. Not for clinical use.\n"
    )
    console.print(price_table(dataset.catalogue))
    console.print(escape(model_summary(model)) + "\n")
    counts = count_asked_of(model.ensemble, dataset.values[rows])
    mean, most = money(AIM.mean_budget or 0, unit), money(BUDGET, unit)
    console.print(
        f"{len(rows)} patients were kept from training. With {mean} on average and "
        f"{most} at most, {describe_counts(counts)}."
    )
    for word, place in zip(("An easy", "A hard"), pick_cases(counts), strict=True):
        row = int(rows[place])
        console.print(f"\n[bold]{word} case[/bold], patient {row + 1}:")
        play(console, model.ensemble, dataset.values[row])
        truth = dataset.classes[int(dataset.targets[row])].display
        console.print(f"The diagnosis in the data: {escape(truth)}")
    console.print()
    sessions = sessions_table(model)
    if sessions is not None:
        console.print("With a budget alone, and no mean:")
        console.print(sessions)
    if model.curve is not None:
        console.print(curve_table(model.curve, unit))
        console.print(curve_bars(model.curve, unit))
    return model


def load_demo() -> tuple[TrainingSpec, Dataset]:
    spec = load_spec(DATA / "heart.json")
    columns = read_columns(DATA / "heart.csv", spec.table.text_columns)
    return spec, check_training(columns, spec).dataset


def demo_training(spec: TrainingSpec, dataset: Dataset) -> Training:
    return train(CheckedTable(dataset, None, ()), spec)


def train_apart() -> tuple[Dataset, IntArray, Model]:
    """Train without some patients; return every row, theirs, and the model."""
    spec, dataset = load_demo()
    every = np.arange(dataset.n_samples)
    others = dataset.take(every[:-N_PATIENTS])
    return (
        dataset,
        every[-N_PATIENTS:],
        run_with_bar(demo_training(spec, others), "training"),
    )


def read_trained_rows() -> BytesIO:
    """Return the table without the patients that were kept from training, as CSV."""
    lines = (DATA / "heart.csv").read_bytes().splitlines(keepends=True)
    return BytesIO(b"".join(lines[:-N_PATIENTS]))


def count_asked_of(ensemble: Ensemble, values: FloatArray) -> IntArray:
    """Return how many questions each row is asked; as many as `play` asks it."""
    return np.array(
        [
            walk(ensemble, row[None], [BUDGET], "adaptive", aims=[AIM]).n_asked[0, 0]
            for row in values
        ]
    )


def describe_counts(counts: IntArray) -> str:
    """Return in words how many cases end after how many questions."""
    numbers, shares = np.unique(counts, return_counts=True)
    phrases = [
        f"{share} after {number}"
        for number, share in zip(numbers.tolist(), shares.tolist(), strict=True)
    ]
    return f"{', '.join(phrases)} questions"


def pick_cases(counts: IntArray) -> tuple[int, int]:
    """Return the first case that ends after few questions, and the one of most."""
    return int(np.argmin(np.abs(counts - FEW_QUESTIONS))), int(np.argmax(counts))


def play(console: Console, ensemble: Ensemble, values: FloatArray) -> State:
    """Answer a session's questions from a row of a dataset."""
    state = machine.start(ensemble, BUDGET, aim=AIM)
    while (question := machine.next_question(ensemble, state)) is not None:
        if state.stop_reason is not None:
            break
        print_question(console, ensemble, state, question)
        answers = []
        for feature_idx in question.feature_idxs:
            value = float(values[feature_idx])
            if np.isnan(value):
                answers.append(Answer(feature_idx, "unavailable"))
                console.print("   answer: not available")
            else:
                answers.append(Answer(feature_idx, "value", value))
                words = describe_value(ensemble, feature_idx, value)
                console.print(f"   answer: {escape(words)}")
        state = machine.observe(ensemble, state, answers)
        print_standing(console, ensemble, state)
    print_end(console, ensemble, state)
    return state
