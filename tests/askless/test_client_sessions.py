"""The Python client, against a real server process: sessions."""

import asyncio
import json
import re

import pandas as pd
import pytest

from askless.client import AsyncClient, Client
from askless.client.problems import ProblemError, UnansweredError
from askless.stored_models import StoredModel
from tests.app.clinic import ageless, model_json

ADULT = {"age": 63, "sex": "female", "chol": 233, "fbs": True, "echo1": 2, "echo2": 4}


@pytest.mark.full
class TestSessionsOnAServer:
    def test_loop_answers_what_is_asked(
        self, client: Client, model: StoredModel
    ) -> None:
        session = client.predict(model, budget=12)

        for question in session:
            if question.feature == "age":
                question.answer(63)
            elif question.feature == "sex":
                question.refused()
            elif question.feature == "chol":
                question.ordered()
            else:
                question.unavailable()

        taken = {answer["feature"]: answer["outcome"] for answer in session.answers}
        assert session.spent == 8.27
        assert session.pending == ["chol"]
        assert {taken[name] for name in ("age", "sex", "chol")} == {
            "value",
            "refused",
            "ordered",
        }
        assert session.prediction["label"] in ("0", "1")

    def test_pending_result_comes_after_the_loop(
        self, client: Client, model: StoredModel
    ) -> None:
        session = client.predict(model, known={"age": 63})
        next(iter(session)).ordered()
        (feature,) = session.pending

        session.answer(feature, "female" if feature == "sex" else 1)

        assert session.pending == []

    def test_question_says_what_people_read_for_its_categories(
        self, client: Client
    ) -> None:
        raw = model_json(ageless(), "called")
        raw["features"][1]["category_labels"] = ["Woman", "Man"]
        document = json.dumps(raw).encode()
        model = client.import_model(document, as_version=True)
        question = client.predict(model, stop={"certain": False}).question

        assert question is not None
        question.answer("Man")

        assert question.categories == ["female", "male"]
        assert question.category_labels == ["Woman", "Man"]
        assert question.session.answers[0]["value"] == "male"

    def test_session_can_be_taken_up_again(
        self, client: Client, model: StoredModel
    ) -> None:
        session = client.predict(model.name, budget=12).answer("age", 40)

        again = client.session(session.id)

        assert again.raw == session.raw

    def test_question_that_gets_no_answer_ends_the_loop(
        self, client: Client, model: StoredModel
    ) -> None:
        session = client.predict(model)

        with pytest.raises(UnansweredError, match="age"):
            list(session)

    def test_played_session_pays_what_the_ledger_says(
        self, client: Client, model: StoredModel
    ) -> None:
        session = client.predict(model, budget=30, stop={"certain": False})

        session.play(ADULT | {"ecg": float("nan")}, goes_on=True)

        charged = [(charge["feature"], charge["amount"]) for charge in session.ledger()]
        assert sum(amount for _, amount in charged) == pytest.approx(session.spent)
        assert ("chol", 7.27) in charged
        assert dict(charged)["echo1"] == 9.0
        assert (session.question, session.pending) == (None, [])

    def test_row_of_a_table_is_played(self, client: Client, model: StoredModel) -> None:
        row = {"age": "63", "sex": "female", "chol": "", "fbs": "yes", "ecg": pd.NA}
        session = client.predict(model, budget=60, stop={"certain": False})

        session.play(row, goes_on=True)

        given = {answer["feature"]: answer["value"] for answer in session.answers}
        empty = dict.fromkeys(("chol", "ecg", "echo1", "echo2"))
        assert given == {"age": 63, "sex": "female", "fbs": True} | empty

    def test_prices_are_charged_and_shown(
        self, client: Client, model: StoredModel
    ) -> None:
        costs = {"age": 2, "sex": 1, "chol": 1, "fbs": 3, "ecg": 5}
        groups = [{"name": "blood", "fee": 0.5}]

        session = client.predict(
            model, budget=60, prices={"costs": costs, "groups": groups}
        )
        session.answer("chol", 233)

        assert session.spent == 1.5
        assert session.prices is not None
        assert session.prices["costs"]["age"] == 2

    def test_answer_over_budget_is_a_problem(
        self, client: Client, model: StoredModel
    ) -> None:
        session = client.predict(model, budget=5)

        with pytest.raises(ProblemError) as refused:
            session.answer("ecg", 1)

        assert refused.value.type == "/problems/over-budget"
        assert refused.value.problem["price"] == 15.5
        assert session.refresh().spent == 0

    def test_useless_answer_is_a_problem_unless_one_insists(
        self, client: Client
    ) -> None:
        document = json.dumps(model_json(ageless(), "ageless")).encode()
        session = client.predict(client.import_model(document, as_version=True))

        with pytest.raises(ProblemError) as refused:
            session.answer("age", 40)
        with pytest.raises(ProblemError):
            session.check({"age": 40})

        assert refused.value.type == "/problems/useless-answer"
        assert refused.value.problem["feature"] == "age"
        assert session.refresh().spent == 0
        assert session.check({"age": 40}, insist=True)["total"] == 1.0
        assert session.answer("age", 40, insist=True).spent == 1.0
        assert session.give({"ecg": 2}, insist=True).spent == 16.5

    def test_stop_is_told_in_a_sentence(
        self, client: Client, model: StoredModel
    ) -> None:
        session = client.predict(model, budget=1, stop={"certain": False})
        asked = session.stop_words

        session.answer("age", 40)

        assert asked is None
        assert session.stop_words == (
            "Nothing is left of the budget, and everything that could still be asked "
            "costs something."
        )

    def test_each_answer_is_explained(self, client: Client, model: StoredModel) -> None:
        session = client.predict(model).answer("age", 40)

        [told] = session.explanation
        session.erase()

        assert re.fullmatch(r"age (raised|lowered|left) the chance of .* %", told)
        assert session.explanation == []

    def test_stopped_session_asks_nothing(
        self, client: Client, model: StoredModel
    ) -> None:
        session = client.predict(model, seed=7, policy="sample").stop()

        assert list(session) == []
        assert session.stop_reason == "client_stopped"

    def test_erased_session_keeps_its_amounts(
        self, client: Client, model: StoredModel
    ) -> None:
        session = client.predict(model).answer("age", 40)

        session.erase()

        assert session.answers == []
        assert [charge["amount"] for charge in session.ledger()] == [1.0]

    def test_session_is_found_by_what_the_case_is_known_by(
        self, client: Client, model: StoredModel
    ) -> None:
        session = client.predict(model, client_ref="case 7")
        client.predict(model)

        (found,) = client.sessions(client_ref="case 7", model=model)

        assert (found["id"], session.client_ref) == (session.id, "case 7")
        assert client.sessions("closed", client_ref="case 7") == []

    def test_checked_answers_are_warned_about_and_not_given(
        self, client: Client, model: StoredModel
    ) -> None:
        session = client.predict(model)

        with pytest.raises(ProblemError, match="such as female"):
            session.answer("sex", "femal")
        given = {"sex": "femal"}
        checked = session.check(given, {"age": "ordered"}, accept_unseen=True)
        session.answer("sex", "femal", accept_unseen=True)

        assert (checked["total"], session.spent) == (1.5, 0.5)
        assert checked["warnings"] == session.warnings
        assert [warning["feature"] for warning in session.warnings] == ["sex"]

    def test_reversed_charge_lowers_what_is_spent(
        self, client: Client, model: StoredModel
    ) -> None:
        session = client.predict(model).answer("age", 40)

        made = client.reverse_charge(session.ledger()[0]["id"], "paid twice")

        (sums,) = client.ledger_sums({"session": session.id})
        assert (made["kind"], made["amount"], sums["net"]) == ("reversal", 1.0, 0.0)
        assert session.refresh().spent == 0

    def test_awaited_question_that_gets_no_answer_ends_the_loop(
        self, address: str, model: StoredModel
    ) -> None:
        async def live() -> None:
            async with AsyncClient(address) as client:
                async for _ in await client.predict(model.id):
                    pass

        with pytest.raises(UnansweredError, match="age"):
            asyncio.run(live())
