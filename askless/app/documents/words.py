"""Meanings of enumerated values, for the OpenAPI document."""

from typing import Annotated, Any, Literal, get_args

from pydantic import Field
from typing_extensions import TypeAliasType

from askless.app import records
from askless.core.catalogue import catalogue
from askless.core.model import alarms, shifts
from askless.core.session import state

MEANINGS: dict[Any, dict[str, str]] = {
    records.TrainingState: {
        "queued": "waits for a worker",
        "running": "a worker is at it",
        "succeeded": "there is a model, or the result of a job",
        "failed": "nothing came of it, and `error` says why",
        "cancelling": "the worker is to stop",
        "cancelled": "stopped as asked",
    },
    records.JobKind: {
        "train": "makes a model",
        "predict": "predicts the rows of a table",
        "evaluate": "measures a model on labelled rows",
        "learn": "goes on learning from labelled rows, and makes a version",
        "shadow": "replays a log of decisions; it has a page, and no route",
    },
    records.SessionState: {
        "open": "takes answers",
        "waiting": "nothing to ask, results that were ordered to come",
        "closed": "stopped, expired or erased",
    },
    state.Outcome: {
        "value": "a value came back",
        "ordered": "paid, the result is to come",
        "unavailable": "there is no such value, as in a missing cell of the table; "
        "that may say something about the case",
        "refused": "it is not to be obtained; that says nothing about the case",
        "unknown": "nobody knows; that says nothing about the case",
    },
    state.Spend: {
        "worthwhile": "what held-out rows can tell from nothing",
        "all": "all that helps at all",
    },
    state.StopReason: {
        "plan_complete": "nothing that what remains still pays would be bought next: "
        "it would not lower the expected error, or what comes before it is too dear",
        "budget_exhausted": "all that could still be asked costs more than what "
        "remains",
        "certain": "no answer that may still be asked can change the prediction",
        "confident": "the predicted class is as probable as was asked for",
        "certified": "stops such as this one rarely differ from the session's end",
        "all_known": "all that the model needs for the case is answered or ordered",
        "rejected_early": "a stage of the cascade has decided",
        "max_questions": "as many questions as allowed were answered",
        "client_stopped": "the caller has stopped it",
        "expired": "it was idle for too long",
        "out_of_time": "the deadline of the run was reached",
        "not_worth_it": "going on would save less error than it costs, or no more than "
        "held-out rows can tell from nothing",
    },
    catalogue.FeatureType: {
        "number": "any finite number",
        "boolean": "true or false",
        "category": "one of some words",
    },
    catalogue.Billing: {
        "per_call": "each answer costs the price, an empty one too",
        "per_answer": "only an answer with a value costs something",
    },
    catalogue.DoubtKind: {
        "unseen_category": "training saw no such category",
        "outside_range": "training saw no number so small or so large",
    },
    records.EntryKind: {
        "charge": "what obtaining a feature has cost",
        "miss": "what an empty answer cost: it was billed per call",
        "reversal": "an earlier charge or miss, given back",
    },
    alarms.AlarmKind: {
        "outside": "values that training did not see",
        "drift": "values are distributed otherwise than in training",
        "error": "errors by outcomes are more than the curve allows",
        "calibration": "labels are right more or less often than their chances say",
        "cases": "there are many new cases to learn from",
    },
    records.RunState: {
        "buying": "the service buys by itself",
        "paused": "it waits for somebody to let it go on",
        "ended": "the session is closed, and the receipt is written",
        "released": "a person goes on with the session",
    },
    records.CallState: {
        "reserved": "its price is reserved, and it is about to be sent",
        "sent": "it is on its way",
        "settled": "a value came",
        "missed": "it was answered, and no value came; `charged` says whether it cost",
        "released": "it failed, or was never sent, and costs nothing",
        "in_doubt": "it was sent, nobody knows what came of it, and it counts as spent "
        "until somebody settles it",
    },
    shifts.ShiftKind: {
        "misses": "the share of answers that are empty",
        "failures": "the share of calls that brought no answer",
        "latency": "the time that answers take",
        "price": "the amount charged for an answer",
    },
    records.Promotion: {
        "by_person": "a person, by `PUT /models/{id}/champion`, whenever they decide",
        "by_rule": "the service too, once the lower bound of the difference in loss is "
        "above the margin",
    },
    records.ChallengeState: {
        "training": "the challenger is being trained",
        "playing": "the challenger plays the champion's new cases silently",
        "ended": "`decision` says how",
    },
    records.Decision: {
        "promoted": "the challenger is the champion now",
        "kept": "somebody has ended it, and the champion stays",
        "overtaken": "one of the two was deleted, or a third model made champion",
        "failed": "the training has made no model",
    },
}


def explain_values(kind: Any) -> Any:
    """Return a field whose description explains each value of an enumeration."""
    words = (f"`{value}`: {MEANINGS[kind][value]}" for value in get_args(kind))
    return Field(description=f"{'; '.join(words)}.")


# Named in the schema, so that generated clients have one type for each.
TrainingState = TypeAliasType(
    "TrainingState",
    Annotated[records.TrainingState, explain_values(records.TrainingState)],
)
JobKind = TypeAliasType(
    "JobKind", Annotated[records.JobKind, explain_values(records.JobKind)]
)
SessionState = TypeAliasType(
    "SessionState",
    Annotated[records.SessionState, explain_values(records.SessionState)],
)
Outcome = TypeAliasType(
    "Outcome", Annotated[state.Outcome, explain_values(state.Outcome)]
)
TakenOutcome = TypeAliasType(
    "TakenOutcome",
    Annotated[
        Literal["known", state.Outcome],
        Field(description="`known`: given with the session, free. Else an outcome."),
    ],
)
StopReason = TypeAliasType(
    "StopReason", Annotated[state.StopReason, explain_values(state.StopReason)]
)
Spend = TypeAliasType("Spend", Annotated[state.Spend, explain_values(state.Spend)])
EntryKind = TypeAliasType(
    "EntryKind", Annotated[records.EntryKind, explain_values(records.EntryKind)]
)
RunState = TypeAliasType(
    "RunState", Annotated[records.RunState, explain_values(records.RunState)]
)
CallState = TypeAliasType(
    "CallState", Annotated[records.CallState, explain_values(records.CallState)]
)
ShiftKind = TypeAliasType(
    "ShiftKind", Annotated[shifts.ShiftKind, explain_values(shifts.ShiftKind)]
)
DoubtKind = TypeAliasType(
    "DoubtKind", Annotated[catalogue.DoubtKind, explain_values(catalogue.DoubtKind)]
)
FeatureType = TypeAliasType(
    "FeatureType",
    Annotated[catalogue.FeatureType, explain_values(catalogue.FeatureType)],
)
Billing = TypeAliasType(
    "Billing", Annotated[catalogue.Billing, explain_values(catalogue.Billing)]
)
Promotion = TypeAliasType(
    "Promotion", Annotated[records.Promotion, explain_values(records.Promotion)]
)
ChallengeState = TypeAliasType(
    "ChallengeState",
    Annotated[records.ChallengeState, explain_values(records.ChallengeState)],
)
Decision = TypeAliasType(
    "Decision", Annotated[records.Decision, explain_values(records.Decision)]
)
AlarmKind = TypeAliasType(
    "AlarmKind", Annotated[alarms.AlarmKind, explain_values(alarms.AlarmKind)]
)
