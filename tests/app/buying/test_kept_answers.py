"""Answers that are kept: who may read them again, and for how long."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from threading import Thread
from typing import Any

import sqlalchemy as sa
from fastapi.testclient import TestClient

from askless.app.store.buying import providers
from tests.app.buying.conftest import SHOP, Decide, Provide, shop
from tests.app.buying.vendors import EMPTY, Vendors
from tests.app.clinic import Put, on
from tests.app.tenants import transaction

pytest_plugins = ["tests.app.conftest_http"]

ALL = ("firmo", "visits", "score")
Json = dict[str, Any]


def values_of(session: Json) -> Json:
    return {answer["feature"]: answer["value"] for answer in session["answers"]}


def test_another_model_does_not_read_a_category_by_its_place_in_the_first(
    decide: Decide, provide: Provide, put: Put
) -> None:
    """`it` is the first category of one model, and the second of the other."""
    provide(*ALL, cache_s=3600)
    features = list(SHOP.features)
    features[2] = replace(features[2], categories=("art", "it"))
    other = replace(shop(), catalogue=replace(SHOP, features=tuple(features)))
    first = decide()

    second = decide(model=put(other, "other"))

    assert values_of(first)["industry"] == values_of(second)["industry"] == "it"


def test_a_case_with_more_to_buy_does_not_take_less_for_all(
    decide: Decide, provide: Provide
) -> None:
    provide(*ALL, cache_s=3600)
    decide(known={"size": 190})

    whole = decide()

    assert values_of(whole)["size"] == 190


def test_an_empty_answer_that_is_read_again_grows_no_younger(
    decide: Decide, provide: Provide, vendors: Vendors, engine: sa.Engine
) -> None:
    provide(*ALL, cache_s=3600)
    vendors.script("firmo", EMPTY)
    decide()
    kept = select_ages(engine)

    decide()

    assert select_ages(engine) == kept


def select_ages(engine: sa.Engine) -> list[Any]:
    table = providers.cached_answers
    with engine.connect() as connection:
        query = sa.select(table.c.provider, table.c.session_id, table.c.at)
        return sorted(map(tuple, connection.execute(query)))


def test_two_cases_with_one_key_that_are_answered_at_once_keep_one_answer(
    client: TestClient, put: Put, engine: sa.Engine
) -> None:
    body = {"model": put(shop(), "shop"), "budget": 1}
    ids = [client.post("/predict", json=body).json()["id"] for _ in range(2)]
    failures: list[Exception] = []

    def keep(session_id: str, wait: Callable[[], object]) -> None:
        try:
            with transaction(engine) as db:
                asked = "firmo", "d" * 64, session_id, {"of": session_id}, on(1)
                providers.keep_answer(db, *asked)
                wait()
        except Exception as error:  # Told below.
            failures.append(error)

    second = Thread(target=keep, args=(ids[1], lambda: None))

    def let_second_begin() -> None:
        second.start()
        second.join(0.5)

    keep(ids[0], let_second_begin)
    second.join()

    assert failures == []
    with transaction(engine, is_read=True) as db:
        since = on(1) - timedelta(days=1)
        assert providers.find_cached(db, "firmo", "d" * 64, since) == {"of": ids[1]}
