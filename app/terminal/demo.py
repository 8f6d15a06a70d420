"""The demo: train on real data with real prices, then meet a patient."""

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape

from app.documents.files import load_spec
from app.ingest import read_columns
from app.terminal.show import curve_plot, curve_table, model_summary, price_table, pull
from app.terminal.transcript import say_end, say_question, say_standing, say_value
from app.wording import money
from core.arrays import FloatArray
from core.model.ensemble import Ensemble
from core.model.model import Model
from core.pipeline.check import check_training
from core.pipeline.progress import Training
from core.pipeline.spec import TrainingSpec
from core.pipeline.train import train
from core.session import machine
from core.session.state import Answer, State
from core.table.check import CheckedTable
from core.table.dataset import Dataset

DATA = Path(__file__).resolve().parent.parent / "demo"
# Any row would do; this is the 300th patient.
PATIENT_ROW = 299
BUDGET = 220_000_000


def run_demo(console: Console) -> Model:
    """Train without one patient, play that patient's session, show the curve."""
    dataset, model = train_without(PATIENT_ROW)
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
    truth = dataset.classes[int(dataset.targets[PATIENT_ROW])].display
    console.print(
        f"[bold]A session[/bold] for patient {PATIENT_ROW + 1}, whom training never "
        f"saw, with a budget of {money(BUDGET, unit)}:"
    )
    play(console, model.ensemble, dataset.values[PATIENT_ROW])
    console.print(f"The diagnosis in the data: {escape(truth)}\n")
    if model.curve is not None:
        console.print(curve_table(model.curve, unit))
        console.print(curve_plot(model.curve, unit), markup=False, highlight=False)
    return model


def load_demo() -> tuple[TrainingSpec, Dataset]:
    spec = load_spec(DATA / "heart.json")
    columns = read_columns(DATA / "heart.csv", spec.table.text_columns)
    return spec, check_training(columns, spec).dataset


def demo_training(spec: TrainingSpec, dataset: Dataset) -> Training:
    return train(CheckedTable(dataset, None, ()), spec)


def train_without(row: int) -> tuple[Dataset, Model]:
    """Train the demo's model on every patient but one."""
    spec, dataset = load_demo()
    others = dataset.take(np.delete(np.arange(dataset.n_samples), row))
    return dataset, pull(demo_training(spec, others), "training")


def play(console: Console, ensemble: Ensemble, values: FloatArray) -> State:
    """Answer a session's questions from a row of a dataset."""
    state = machine.start(ensemble, BUDGET)
    while (question := machine.next_question(ensemble, state)) is not None:
        if state.stop_reason is not None:
            break
        say_question(console, ensemble, state, question)
        answers = []
        for feature_idx in question.feature_idxs:
            value = float(values[feature_idx])
            if np.isnan(value):
                answers.append(Answer(feature_idx, "unavailable"))
                console.print("   answer: not available")
            else:
                answers.append(Answer(feature_idx, "value", value))
                said = say_value(ensemble, feature_idx, value)
                console.print(f"   answer: {escape(said)}")
        state = machine.observe(ensemble, state, answers)
        say_standing(console, ensemble, state)
    say_end(console, ensemble, state)
    return state
