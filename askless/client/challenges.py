"""Train challengers on new cases, and show how they stand against champions."""

from datetime import date

from askless.client.connection import Connection, Json
from askless.client.links import Call
from askless.stored_models import StoredModel, model_path


class ChallengeCalls:
    """The client's calls about challenges; a model is an item of a list, or a name."""

    connection: Connection

    @Call
    async def refresh_model(
        self,
        model: str | StoredModel,
        since: date | None = None,
        *,
        alpha: float = 0.05,
        margin: float = 0.0,
        promote: str = "by_person",
    ) -> Json:
        """Start a training on the champion's first table and the cases since.

        Its model challenges the champion of the name. With `promote="by_rule"` it takes
        the champion's place once the lower bound of the difference in loss is above
        `margin`; `alpha` is the share of challengers no better than that which are ever
        promoted so. Returns the training, to be waited for by `follow`.
        """
        rule = {"alpha": alpha, "margin": margin, "promote": promote}
        body = {"since": None if since is None else since.isoformat(), "rule": rule}
        path = f"{model_path(model)}/refresh"
        return await self.connection.request_json("POST", path, json=body)

    @Call
    async def challenge(self, model: str | StoredModel) -> Json:
        """Return how the challenger of a name stands, or how its challenge ended."""
        return await self.connection.request_json(
            "GET", f"{model_path(model)}/challenge"
        )

    @Call
    async def end_challenge(self, model: str | StoredModel) -> None:
        """End the open challenge of a name; the champion stays."""
        await self.connection.request("DELETE", f"{model_path(model)}/challenge")
