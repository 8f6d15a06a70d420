"""What `askless train` and `askless ask` do, by hand: scikit-learn and LightGBM.

For docs/by_hand.md: what one has to write without Askless for the demo's table, and
what comes out. `python -m benchmarks.by_hand` prints the errors; `... --ask 120` goes
through a case. It is written as a data scientist would who needs it once.
"""

import json
import sys
from pathlib import Path

import lightgbm
import numpy as np
import pyarrow.csv
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold, cross_val_predict

DEMO = Path(__file__).resolve().parents[1] / "app" / "demo"
BUDGETS = (5.0, 60.0, 120.0, 250.0, 400.0)

spec = json.loads((DEMO / "heart.json").read_text())
features = {feature["name"]: feature for feature in spec["features"]}
fees = {group["name"]: group["fee"] for group in spec["groups"]}
table = pyarrow.csv.read_csv(DEMO / "heart.csv")
names = list(features)
codes = {}
columns = []
for name in names:
    column = table[name].to_pylist()
    if features[name]["type"] == "number":
        columns.append([np.nan if cell is None else float(cell) for cell in column])
    else:
        words = [None if cell in (None, "") else str(cell).lower() for cell in column]
        codes[name] = {
            word: code for code, word in enumerate(sorted(set(words) - {None}))
        }
        columns.append([codes[name].get(word, np.nan) for word in words])
X = np.array(columns, dtype=float).T
y = np.array(
    [int(str(label) == spec["positive"]) for label in table["label"].to_pylist()]
)


def price(chosen):
    """Each feature's cost, and each group's fee once."""
    groups = {features[name].get("group") for name in chosen} - {None}
    return sum(features[name]["cost"] for name in chosen) + sum(fees[g] for g in groups)


def model(chosen):
    # LightGBM's own way with categories wants some hundred rows of each by default.
    few_rows = {"min_data_per_group": 5, "cat_smooth": 1, "cat_l2": 1}
    return lightgbm.LGBMClassifier(
        n_estimators=60,
        num_leaves=4,
        learning_rate=0.1,
        min_child_samples=5,
        categorical_feature=[place for place, one in enumerate(chosen) if one in codes],
        verbose=-1,
        n_jobs=1,
        **few_rows,
    )


def take(rows, chosen):
    return rows[:, [names.index(name) for name in chosen]]


def loss(rows, labels, chosen):
    if not chosen:
        chance = np.full(labels.size, labels.mean())
    else:
        folds = StratifiedKFold(4, shuffle=True, random_state=0)
        told = cross_val_predict(
            model(chosen), take(rows, chosen), labels, cv=folds, method="predict_proba"
        )
        chance = np.clip(told[:, 1], 1e-6, 1 - 1e-6)
    return -np.mean(np.log(np.where(labels == 1, chance, 1 - chance)))


def choose(rows, labels, budget):
    """Forward selection: the feature that lowers the loss most per unit of money."""
    chosen, now = [], loss(rows, labels, [])
    while True:
        best = None
        for name in set(names) - set(chosen):
            longer = [*chosen, name]
            extra = max(price(longer) - price(chosen), 0.01)
            if price(longer) > budget:
                continue
            after = loss(rows, labels, longer)
            if best is None or (now - after) / extra > best[0]:
                best = (now - after) / extra, name, after
        if best is None or best[0] <= 0:
            return chosen
        chosen.append(best[1])
        now = best[2]


def fit(rows, labels, chosen):
    fitted = CalibratedClassifierCV(model(chosen), method="sigmoid", cv=4)
    return fitted.fit(take(rows, chosen), labels)


def evaluate():
    wrong = dict.fromkeys(BUDGETS, 0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for train, test in folds.split(X, y):
        for budget in BUDGETS:
            chosen = choose(X[train], y[train], budget)
            if chosen:
                fitted = fit(X[train], y[train], chosen)
                told = fitted.predict(take(X[test], chosen))
            else:
                told = np.full(test.size, int(y[train].mean() > 0.5))
            wrong[budget] += int((told != y[test]).sum())
    for budget, count in wrong.items():
        print(f"{budget:6.0f} {spec['cost_unit']}: error {count / y.size:.3f}")


def ask(budget):
    order = choose(X, y, budget)
    known = {}
    for name in order:
        group = features[name].get("group")
        paid = {features[idx].get("group") for idx in known}
        charge = features[name]["cost"] + (
            fees[group] if group and group not in paid else 0
        )
        word = input(f"{features[name].get('label', name)} ({charge:.2f}): ").strip()
        if name in codes:
            known[name] = codes[name][word.lower()]
        else:
            known[name] = float(word)
        chosen = list(known)
        fitted = fit(X, y, chosen)
        chance = fitted.predict_proba(np.array([[known[idx] for idx in chosen]]))[0, 1]
        print(f"  {spec['classes']['1']}: {chance:.0%}")
    print(f"spent {price(list(known)):.2f} {spec['cost_unit']}")


if __name__ == "__main__":
    if "--ask" in sys.argv:
        ask(float(sys.argv[-1]))
    else:
        evaluate()
