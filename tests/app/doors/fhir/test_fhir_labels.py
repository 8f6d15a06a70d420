"""Forms and cards show the labels of categories; their codes stay the names."""

from askless.app.documents.http.sessions import TakenAnswer
from askless.app.doors.cds.calls import result_text
from askless.app.doors.fhir.responses import answered_item, feature_item
from askless.core.catalogue.catalogue import Feature

PAIN = Feature(
    "cp",
    "category",
    categories=("asymptomatic", "atypical  ang", "typ"),
    category_labels=("No symptoms", "Atypical angina", "Typical angina"),
)
PLAIN = Feature("cp", "category", categories=PAIN.categories)


def test_an_answer_option_has_the_name_as_code_and_the_label_as_display() -> None:
    first, spaced, _ = feature_item(PAIN)["answerOption"]

    assert first == {"valueCoding": {"code": "asymptomatic", "display": "No symptoms"}}
    # No code has two spaces, so the text is all there is; it is an answer too.
    assert spaced == {"valueString": "Atypical angina"}


def test_without_labels_the_name_is_both() -> None:
    *_, last = feature_item(PLAIN)["answerOption"]

    assert last == {"valueCoding": {"code": "typ", "display": "typ"}}


def test_an_answer_is_sent_back_as_its_option() -> None:
    taken = TakenAnswer(
        feature="cp",
        outcome="value",
        value="typ",
        charged=1.0,
        propensity=None,
        explores=False,
    )
    (answer,) = answered_item(PAIN, taken, "CAD")["answer"]

    assert answer == {"valueCoding": {"code": "typ", "display": "Typical angina"}}


def test_a_card_names_what_is_known_by_its_label() -> None:
    assert result_text(PAIN, "typ") == "Typical angina"
    assert result_text(Feature("chol", unit="mg/dL"), 250) == "250 mg/dL"
