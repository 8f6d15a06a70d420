"""Build the body of a session: question, prediction, answers, amounts."""

from collections import Counter
from typing import Any

from askless.app.documents.buying.runs import RunView
from askless.app.documents.fields import Value
from askless.app.documents.http import certificates, explanations, questions
from askless.app.documents.http import sessions as bodies
from askless.app.documents.http.models import ModelGroup
from askless.app.documents.session.state import Texts
from askless.app.records import PredictSession, StoredRun
from askless.app.service.sessions.terms import aim_of
from askless.app.words.own_questions import describe_out_of_force
from askless.app.words.stops import describe_stop, to_sentence
from askless.app.words.wording import (
    LACKS,
    Doubt,
    describe_step,
    explain_question,
    make_doubt,
)
from askless.core.catalogue.catalogue import UNSEEN, Feature
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Model
from askless.core.session import machine
from askless.core.session.certificates import make_certificate
from askless.core.session.explorations import compute_propensity
from askless.core.session.state import Forecast, Question, State
from askless.core.session.steps import compute_prospect, reported_class, trace_answers


def model_reference(session: PredictSession, name: str) -> dict[str, str]:
    """Return the fields of `bodies.ModelRef`."""
    return {"id": session.model_id, "name": name}


def summary_of(session: PredictSession, model_name: str) -> bodies.SessionSummary:
    model = model_reference(session, model_name)
    return bodies.SessionSummary.of(session, model=model, budget=session)


def erased_view(session: PredictSession, model_name: str) -> bodies.Session:
    """Return the body of a session whose answers were erased; it keeps the amounts."""
    return bodies.Session.of(
        session,
        model=model_reference(session, model_name),
        budget=session,
        question=None,
        prediction=None,
        should_stop=True,
        stop_reason=None,
        stop_words=None,
        answers=[],
        pending=[],
        warnings=[],
        policy=None,
        policy_words=None,
        seed=None,
        stop=None,
        prices=None,
        coverage=None,
        explore=None,
        certificate=None,
        aim=None,
        run=None,
    )


def run_view(session: PredictSession, run: StoredRun | None) -> RunView | None:
    """Return the body of a session's run.

    The run of a closed session has ended once no call is on its way.
    """
    if run is None:
        return None
    is_over = session.state == "closed" and not session.held
    return RunView.of(run, **({"state": "ended"} if is_over else {}))


def view_of(
    session: PredictSession,
    model: Model,
    state: State,
    texts: Texts,
    run: StoredRun | None = None,
) -> bodies.Session:
    """Return the body of a session whose answers are not erased."""
    ensemble = model.ensemble
    features = ensemble.catalogue.features
    if state.held:
        # Another question is possible while a call is on its way.
        state = machine.hold(ensemble, state, state.held)
    question = machine.next_question(ensemble, state)
    return bodies.Session.of(
        session,
        state,
        model=model_reference(session, model.name),
        budget=session,
        question=None if question is None else question_of(ensemble, state, question),
        prediction=prediction_of(ensemble, state),
        should_stop=state.stop_reason is not None,
        stop_words=to_sentence(describe_stop(ensemble, state)) or None,
        answers=answers_of(ensemble, state, texts),
        certificate=certificate_of(ensemble, state),
        aim=aim_of(model, state),
        policy_words=describe_out_of_force(ensemble, state),
        pending=[features[idx].name for idx in state.pending],
        warnings=doubts_of(ensemble, state, texts),
        prices=None if session.price_list_id is None else prices_of(ensemble),
        run=run_view(session, run),
    )


def prices_of(ensemble: Ensemble) -> bodies.Prices:
    """Return all prices of a session; members of a bundle have cost 0."""
    catalogue = ensemble.catalogue
    return bodies.Prices(
        costs={feature.name: feature.cost for feature in catalogue.features},
        groups=[ModelGroup.of_group(group) for group in catalogue.groups],
        billing={feature.name: feature.billing for feature in catalogue.features},
    )


def question_of(ensemble: Ensemble, state: State, question: Question) -> dict[str, Any]:
    """Return the fields of `questions.Question`."""
    features = ensemble.catalogue.features
    feature = features[question.feature_idx]
    prospect = compute_prospect(ensemble, state, question.feature_idx)
    return questions.Question.collect(
        question,
        feature,
        feature=feature.name,
        features=[features[idx].name for idx in question.feature_idxs],
        why=explain_question(ensemble, question, prospect),
        propensity=compute_propensity(ensemble, state),
        # None where this answer alone can't move the prediction.
        prospect=prospect
        and explanations.Prospect.collect(
            prospect, ensemble.classes[prospect.class_idx]
        ),
        worth=question.promise and questions.Promise.collect(question.promise),
        alternatives=[
            {"feature": features[idx].name, "price": price}
            for idx, price in question.alternatives
        ],
    )


def prediction_of(ensemble: Ensemble, state: State) -> dict[str, Any]:
    """Return the fields of `bodies.Prediction`; the more probable class first."""
    forecast = machine.forecast(ensemble, state)
    classes: list[dict[str, Any]] = [
        {"label": label.label, "display": label.display, "probability": probability}
        for label, probability in zip(
            ensemble.classes, forecast.probabilities, strict=True
        )
    ]
    shown = sorted(classes, key=lambda entry: -entry["probability"])
    label_set = forecast.label_set and [
        classes[idx]["label"] for idx in forecast.label_set
    ]
    return bodies.Prediction.collect(
        forecast,
        **classes[forecast.label],
        classes=shown,
        label_set=label_set,
        steps=steps_of(ensemble, state, forecast),
    )


def steps_of(
    ensemble: Ensemble, state: State, forecast: Forecast
) -> list[dict[str, Any]]:
    """Return the effect of each answer on the probability of one class.

    Each has the fields of `explanations.AnswerStep`.
    """
    class_idx = reported_class(forecast.probabilities)
    return [
        {
            "feature": ensemble.catalogue.features[step.feature_idx].name,
            "outcome": step.outcome,
            "label": ensemble.classes[class_idx].label,
            "before": step.before[class_idx],
            "after": step.after[class_idx],
            "log_odds": step.log_odds(class_idx),
            "words": describe_step(ensemble, step, class_idx),
        }
        for step in trace_answers(ensemble, state)
    ]


def certificate_of(ensemble: Ensemble, state: State) -> certificates.Certificate | None:
    """Return the certificate that a session requested; None if it requested none."""
    if state.stop.disagreement is None:
        return None
    certificate = make_certificate(ensemble, state)
    lack = certificate.lack
    return certificates.Certificate.of(
        certificate, state.stop, in_force=lack is None, why=LACKS[lack]
    )


def answers_of(ensemble: Ensemble, state: State, texts: Texts) -> list[dict[str, Any]]:
    """Return the last answer for each feature: known ones first, then as they came.

    Each has the fields of `bodies.TakenAnswer`.
    """
    features = ensemble.catalogue.features
    charged = Counter[int]()
    for charge in state.charges:
        # A miss, and a value that came later.
        charged[charge.feature_idx] += charge.amount
    known = [idx for idx, outcome in enumerate(state.outcomes) if outcome == "known"]
    answered = (answer.feature_idx for answer in state.history)
    return [
        {
            "feature": features[idx].name,
            "outcome": state.outcomes[idx] or "unknown",
            "value": value_of(features[idx], state.values[idx], texts),
            "charged": charged[idx],
            "propensity": state.propensities.get(idx),
            "explores": idx == state.explored_idx,
        }
        for idx in dict.fromkeys((*known, *answered, *charged))
    ]


def doubts_of(ensemble: Ensemble, state: State, texts: Texts) -> list[Doubt]:
    """Return doubts about the values that a session knows now."""
    pairs = zip(ensemble.catalogue.features, state.values, strict=True)
    doubts = (
        make_doubt(feature, value, texts.get(feature.name))
        for feature, value in pairs
        # NaN, a missing value, is unequal to itself.
        if value == value
    )
    return [doubt for doubt in doubts if doubt is not None]


def value_of(feature: Feature, value: float, texts: Texts) -> Value | None:
    """Return a stored value as its caller wrote it; None for a missing one."""
    # NaN, which is unequal to itself, is a missing value.
    if value != value:
        return None
    if feature.type == "category":
        if value == UNSEEN:
            return texts.get(feature.name)
        return feature.categories[int(value)]
    if feature.type == "boolean":
        return bool(value)
    # Integers below 2**53 are exact in a float, so they are shown without a point.
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
