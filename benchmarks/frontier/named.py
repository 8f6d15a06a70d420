"""Budgets that a user names: python -m benchmarks.frontier.named [NAME ...].

`panels` at its defaults, `panels` with the budgets named, and LightGBM after forward
selection for each of these budgets, on tables that nothing of Askless was chosen on.
"""

import argparse
import sys
from dataclasses import replace

import numpy as np

from askless.core.panels.ladders import fit_ladder
from askless.core.training.algorithms import make_ensemble
from askless.core.training.params import BoostParams
from askless.core.work import run_to_end
from benchmarks.documents import keep_rows
from benchmarks.frontier import rivals
from benchmarks.frontier.draws import Draw, draw, load
from benchmarks.frontier.measures import Method
from benchmarks.frontier.parties import simulate

NAMES = ("vehicle", "glass", "glass2", "echocardiogram", "xd6", "led24", "adult")
PROTOCOLS = ("uniform", "fees")


def play_named(drawn: Draw) -> list[Method]:
    """Measure panels without and with named budgets, and forward selection."""
    params = BoostParams("panels")
    methods = []
    for named in ((), drawn.budgets):
        ladder = run_to_end(fit_ladder(drawn.training, named=named))
        ensemble = make_ensemble(drawn.training, params, ())
        methods.append(simulate(replace(ensemble, panels=ladder), drawn))
    return [*methods, rivals.refit(drawn, rivals.find_forward(drawn))]


def main() -> int:
    """Fill in the mean errors over budgets and draws, and their ratios."""
    parser = argparse.ArgumentParser(prog="benchmarks.frontier.named")
    parser.add_argument("names", nargs="*", metavar="NAME", default=NAMES)
    parser.add_argument("--draws", type=int, default=3)
    given = parser.parse_args()
    for protocol in PROTOCOLS:
        for name in given.names:
            errors = []
            for number in range(given.draws):
                methods = play_named(draw(load(name), protocol, number))
                errors.append([np.mean(method["errors"]) for method in methods])
                print(protocol, name, number, errors[-1], file=sys.stderr, flush=True)
            panels, named, forward = np.mean(errors, axis=0)
            row = [protocol, name, given.draws]
            row += [f"{100 * error:.2f}" for error in (forward, panels, named)]
            row += [f"{error / forward:.3f}" for error in (panels, named)]
            keep_rows("frontier", "named", [row], n_keys=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
