"""Accuracy at a mean spend: prices with their groups, and rows to train and test."""

import numpy as np
import pytest

from benchmarks import data
from benchmarks.frontier.mean import load_priced, split

pytestmark = pytest.mark.skipif(
    not data.find_folder().is_dir(), reason="the shared data folder is absent"
)


@pytest.mark.parametrize(
    ("name", "group", "members"),
    [
        ("heart_cleveland", "B_thallium", {"thalach": 1, "thal": 1}),
        ("pima", "A_blood", {"glucose": 15.51, "insulin": 20.68}),
    ],
)
def test_first_member_of_a_group_pays_what_the_manifest_says(name, group, members):
    _, catalogue = load_priced(name)

    costs, _ = data.read_prices(name)
    (fee,) = [one.fee for one in catalogue.groups if one.name == group]
    its = {
        feature.name: feature.cost / 1e6
        for feature in catalogue.features
        if feature.group == group
    }
    assert its == members
    assert {one: cost + fee / 1e6 for one, cost in its.items()} == pytest.approx(
        {member: costs[member] for member in members}
    )


def test_thyroid_is_trained_on_its_first_rows():
    table, catalogue = load_priced("thyroid_ann")

    ((training, testing),) = split("thyroid_ann", table, catalogue, 10)

    assert (training.n_samples, testing.n_samples) == (3772, 3428)
    assert [label.label for label in training.classes] == ["normal", "ill"]
    # Of the sick the fewer: 534 of 7,200 rows.
    assert int(np.sum(training.targets) + np.sum(testing.targets)) == 534
