"""A log of the demo's leads as its waterfall has decided them, a row per call."""

import csv
from datetime import UTC, datetime, timedelta
from io import StringIO

import numpy as np

from askless.app.demo.leads import BAD, FORM, GOOD, SEED, VENDORS, cell
from askless.app.demo.waterfall import ask_in_order, list_rows, score, tune

FIRST_DAY = datetime(2026, 1, 5, 9, tzinfo=UTC)
LEADS_A_DAY = 30
MICROS_PER_DOLLAR = 1_000_000
# Median seconds of each vendor's answer.
LATENCIES = (0.2, 0.9, 1.4, 0.6, 0.8, 30.0)
CALL_COLUMNS = ("lead", "decided_at", "vendor", "at", "price", "latency_s")


def write_log(*, asks_all: bool = False) -> str:
    """Return the log as CSV; the decisions are the same if it goes on to ask all."""
    leads, rule, scored = list_rows(), tune(), score()
    rows = np.arange(len(leads.is_good))
    _, odds, counts = ask_in_order(scored, rule, rows)
    random = np.random.default_rng(SEED)
    latencies = random.lognormal(np.log(LATENCIES), 0.4, (rows.size, len(VENDORS)))
    names = [name for vendor in VENDORS for name in vendor.features]
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*CALL_COLUMNS, *FORM, *names, "decision", "outcome"])
    for row in rows.tolist():
        number, place = divmod(row, LEADS_A_DAY)
        at = FIRST_DAY + timedelta(days=number, minutes=15 * place)
        form = [leads.sources[row], leads.roles[row], cell(leads.columns["words"][row])]
        ends = [GOOD if odds[row] > 0 else BAD, GOOD if leads.is_good[row] else BAD]
        order = rule.order if asks_all else rule.order[: int(counts[row])]
        lead, calls = f"L{row + 1:05}", []
        for idx in order:
            latency = float(latencies[row, idx])
            at += timedelta(seconds=latency)
            own = VENDORS[idx].features
            answers = [
                cell(leads.columns[name][row]) if name in own else "" for name in names
            ]
            price = int(scored.charges[idx, row]) / MICROS_PER_DOLLAR
            call = [VENDORS[idx].name, write_time(at), f"{price:g}", f"{latency:.3f}"]
            calls.append([*call, *form, *answers])
        decided = write_time(at + timedelta(seconds=1))
        for call in calls or [["", "", "", "", *form, *([""] * len(names))]]:
            writer.writerow([lead, decided, *call, *ends])
    return file.getvalue()


def write_time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
