"""The Python client, against a real server process: tables, trainings and models."""

import asyncio
import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from askless.client import AsyncClient, Client
from askless.client.jobs import JobProgress, TrainingProgress
from askless.client.problems import ProblemError, TrainingFailed
from askless.client.sessions import AsyncPredictionSession
from askless.stored_models import StoredModel
from tests.app.clinic import clinic, model_json
from tests.app.learners import SPEC as SIGNS
from tests.app.learners import as_csv, make_rows
from tests.askless.coins import SPEC, coins


@pytest.mark.full
class TestAgainstAServer:
    def test_train_gives_the_model_and_tells_its_progress(
        self, client: Client, tmp_path: Path
    ) -> None:
        told: list[TrainingProgress] = []

        made = client.train(coins(tmp_path), SPEC, told.append)

        assert (made.name, made.version) == ("coin", 1)
        assert [told[0].state, told[-1].state] == ["queued", "succeeded"]
        assert told[-1].share == 1.0
        assert made in client.models()
        assert client.curve(made)["rows"] == 60

    def test_a_table_is_named_only_where_it_may_lie(self, client: Client) -> None:
        with pytest.raises(ProblemError) as caught:
            client.refer_dataset("s3://clinic/visits", "visits")

        assert caught.value.status == 422
        assert [error["field"] for error in caught.value.errors] == ["url"]

    def test_closed_cases_become_a_table(
        self, client: Client, model: StoredModel, tmp_path: Path
    ) -> None:
        session = client.predict(model, budget=12)
        session.give({"age": 63})
        session.stop()
        session.tell_outcome("1")
        first, later = date(2020, 1, 1), datetime.now(UTC) + timedelta(hours=1)

        made = client.make_case_table(model.id, first, later, "november")

        old = client.upload(coins(tmp_path))
        spec = SPEC | {"target": "disease"}
        verdict = client.validate([old, made], spec)

        assert (made.name, made.n_rows) == ("november", 1)
        (refusal,) = verdict["errors"]
        assert refusal["field"] == "datasets[0]"
        assert made.columns[-2:] == ["disease", "askless_case"]
        with pytest.raises(ProblemError, match="closed cases"):
            client.make_case_table("clinic", since=later)

    def test_spec_may_be_a_file(self, client: Client, tmp_path: Path) -> None:
        spec = tmp_path / "spec.json"
        spec.write_text(json.dumps(SPEC | {"name": "from-a-file"}))

        made = client.train(str(coins(tmp_path)), spec)

        assert made.name == "from-a-file"

    def test_refused_spec_names_the_broken_rules(
        self, client: Client, tmp_path: Path
    ) -> None:
        with pytest.raises(ProblemError) as refused:
            client.train(coins(tmp_path), SPEC | {"target": "edge"})

        assert refused.value.status == 422
        assert refused.value.type == "/problems/invalid-request"
        assert [error["field"] for error in refused.value.errors] == ["target"]

    def test_cancelled_training_raises(self, client: Client, tmp_path: Path) -> None:
        endless = SPEC | {"params": {"rounds": 100_000}}
        training_id = client.start_training(coins(tmp_path), endless)
        client.cancel(training_id)

        with pytest.raises(TrainingFailed) as ended:
            client.follow(training_id)

        assert ended.value.state == "cancelled"

    def test_exported_model_can_be_imported(
        self, client: Client, model: StoredModel, tmp_path: Path
    ) -> None:
        exported = tmp_path / "MODEL.json"
        exported.write_bytes(client.export(model))

        again = client.import_model(exported, as_version=True)

        assert (again.name, again.version) == (model.name, model.version + 1)

    def test_plan_keeps_to_the_budget(self, client: Client, model: StoredModel) -> None:
        plan = client.plan(model, budget=10)

        assert 0 < plan["total"] <= 10

    def test_dataset_is_uploaded_once_and_trained_on(
        self, client: Client, tmp_path: Path
    ) -> None:
        table = client.upload(coins(tmp_path))

        verdict = client.validate(table, SPEC)
        made = client.train(table, SPEC)

        assert (table.n_rows, table.columns) == (60, ["weight", "size", "side"])
        assert verdict["valid"]
        assert client.training(str(made.training_id))["dataset_id"] == table.id
        assert table in client.datasets()
        client.delete_dataset(table)
        with pytest.raises(ProblemError):
            client.dataset(table.id)

    def test_whole_tables_are_predicted_and_measured(
        self, client: Client, model: StoredModel, tmp_path: Path
    ) -> None:
        table = tmp_path / "patients.csv"
        rows = ["63,female,233,1,2,4,1,1", "20,male,100,0,1,1,1,0"]
        head = "age,sex,chol,fbs,echo1,echo2,ecg,disease"
        table.write_text("\n".join([head, *rows, ""]))
        told: list[JobProgress] = []

        started = client.predict_table(model, table, {"budgets": [1, None]})
        ended = client.follow_job(started["id"], told.append)
        stored = client.dataset(ended["dataset_id"])
        measured = client.evaluate(model.id, stored, {"budgets": [None]})

        assert ended["result"]["rows"] == 4
        assert client.job_result(ended["id"]).count(b"\n") == 5
        assert (told[-1].job_id, told[-1].share) == (ended["id"], 1.0)
        measured = client.follow_job(measured["id"])
        assert json.loads(client.job_result(measured["id"], "json"))
        assert [job["id"] for job in client.jobs()] == [measured["id"], ended["id"]]
        client.delete_job(ended["id"])
        with pytest.raises(ProblemError):
            client.job(ended["id"])

    def test_model_goes_on_learning(self, client: Client, tmp_path: Path) -> None:
        table = tmp_path / "t.csv"
        table.write_bytes(as_csv(make_rows(60)))
        model = client.train(table, SIGNS)

        started = client.learn(model, rows=make_rows(5))
        ended = client.follow_job(started["id"])
        again = client.follow_job(client.learn("signs", table)["id"])

        first, second = (job["result"]["model_id"] for job in (ended, again))
        assert client.model(first).version == 2
        assert [model.version for model in client.models()[:2]] == [3, 2]
        assert second == client.model("signs").id
        report = json.loads(client.job_result(again["id"]))
        assert report["rows_since_training"] == 65
        with pytest.raises(ProblemError, match="column hue"):
            client.learn(model, rows=[{"hue": "red", "y": "no"}])
        with pytest.raises(ValueError, match="rows: must be given"):
            client.learn(model)

    def test_lists_have_what_was_made(self, client: Client, model: StoredModel) -> None:
        session = client.predict(model).answer("age", 40)

        (entry,) = session.ledger()

        assert session.id in [session["id"] for session in client.sessions()]
        where = {"session": session.id}
        assert client.ledger(where | {"until": date(2999, 1, 1)}) == [entry]
        assert client.ledger(where | {"until": date(1999, 1, 1)}) == []
        assert client.ledger_csv(where).count(b"\n") == 2

    def test_outcome_of_a_case_is_in_its_models_monitor(self, client: Client) -> None:
        document = json.dumps(model_json(clinic(), "watched"))
        model = client.import_model(document.encode(), as_version=True)
        session = client.predict(model).answer("age", 40).stop()

        told = session.tell_outcome("1")

        assert session.outcome() == told
        assert client.monitor(model, bucket="day")["whole"]["outcomes"] == 1
        assert (
            client.monitor(model, until=date(1999, 1, 1), since=date(1999, 1, 1))[
                "whole"
            ]["sessions"]
            == 0
        )

    def test_a_challenger_is_trained_and_its_challenge_ended(
        self, client: Client, tmp_path: Path
    ) -> None:
        champion = client.train(coins(tmp_path), SPEC | {"name": "minted"})
        with pytest.raises(ProblemError, match="nothing new to learn"):
            client.refresh_model("minted")
        session = client.predict(champion)
        session.give({"size": 3})
        session.stop()
        session.tell_outcome(session.prediction["label"])

        begun = client.refresh_model("minted", alpha=0.1, promote="by_rule")
        challenger = client.follow(begun["id"])
        stands = client.challenge("minted")
        client.end_challenge("minted")

        assert stands["champion"] == champion.id == begun["champion"]
        assert stands["challenger"] == challenger.id
        assert stands["rule"] == {"alpha": 0.1, "margin": 0.0, "promote": "by_rule"}
        ended = client.challenge(challenger)["decision"]
        assert ended["outcome"] == "kept"

    def test_key_that_was_made_opens_its_scopes_until_it_is_revoked(
        self, client: Client, address: str, model: StoredModel
    ) -> None:
        made = client.create_key("clinic", ["predict:write"], {"sessions": 3}, days=1)

        with Client(address, key=made["token"]) as other:
            assert other.predict(model.id).state == "open"
            with pytest.raises(ProblemError) as refused:
                other.models()
        client.revoke_key(made["id"])

        (listed,) = [key for key in client.api_keys() if key["id"] == made["id"]]
        assert refused.value.status == 403
        assert listed["revoked_at"] is not None
        assert "token" not in listed

    def test_deleted_model_is_gone(self, client: Client, model: StoredModel) -> None:
        copy = client.import_model(client.export(model), as_version=True)

        client.delete_model(copy)

        assert copy not in client.models()

    def test_awaited_client_trains_and_plays(
        self, address: str, tmp_path: Path
    ) -> None:
        async def live() -> tuple[list[str], AsyncPredictionSession]:
            told: list[TrainingProgress] = []
            async with AsyncClient(address) as client:
                model = await client.train(coins(tmp_path), SPEC, told.append)
                session = await client.predict(model, stop={"certain": False})
                asked = []
                async for question in session:
                    asked.append(question.feature)
                    await question.answer(3)
                other = await (await client.predict(model)).play({"size": 3})
                await other.answer("size", 4, insist=True)
                assert other.question is None
                assert [model.id for model in await client.models()]
            return asked, session

        asked, session = asyncio.run(live())

        assert sorted(asked) == ["size", "weight"]
        assert session.spent == 3

    def test_unknown_model_is_a_problem(self, client: Client) -> None:
        with pytest.raises(ProblemError) as missing:
            client.card("mdl_none")

        assert (missing.value.status, missing.value.title) == (404, "Not found")
