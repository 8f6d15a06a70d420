"""Bodies of the Open Inference Protocol, version 2, as far as this service has them.

A field or parameter that means nothing here is refused, not passed over: what it asks
for would not be done.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from askless.app.documents.fields import Key, Policy, read_limit
from askless.app.documents.http.sessions import MAX_SEED
from askless.app.documents.http.terms import AimWish
from askless.app.documents.shape import Shape

MAX_INPUTS = 20_000
MAX_ID = 1_000
UNLIMITED = "inf"
# The hints of other clients on how to read a tensor, where they say what is done here.
ContentType = Literal["np", "pd", "str"]


def read_most_spend(raw: Any) -> int | None:
    """Return a budget in micro-units; None for "inf", since null is no parameter."""
    try:
        return None if raw == UNLIMITED else read_limit(raw)
    except ValueError:
        rule = f'must be an amount, or "{UNLIMITED}" for no limit'
        raise ValueError(rule) from None


class InferenceParameters(AimWish):
    """Parameters of a request: the budget of a row, its policy, the form of outputs."""

    budget: Annotated[int | None, BeforeValidator(read_most_spend)]
    policy: Policy | None = None
    seed: int = Field(default=0, ge=0, le=MAX_SEED)
    exact_budget: bool = False
    accept_unseen: bool = False
    binary_data_output: bool = False
    content_type: ContentType | None = None
    # Rows are played at once, in the order of requests.
    priority: int | None = None
    timeout: int | None = None

    @property
    def aim(self) -> AimWish | None:
        """The aim, where one of its fields is set."""
        names = AimWish.model_fields
        is_set = any(getattr(self, name) is not None for name in names)
        return self if is_set else None


class InputParameters(Shape):
    """How a tensor is sent."""

    binary_data_size: int | None = Field(default=None, ge=0)
    content_type: ContentType | None = None


class InputTensor(Shape):
    """A tensor of a request; `data` is absent where it is sent as bytes."""

    name: Key
    shape: list[Annotated[int, Field(ge=0)]] = Field(min_length=1, max_length=2)
    datatype: str
    parameters: InputParameters = InputParameters()
    data: Any = None


class OutputParameters(Shape):
    """How an output is sent."""

    binary_data: bool | None = None
    content_type: ContentType | None = None


class OutputWish(Shape):
    """An output that a request asks for."""

    name: str
    parameters: OutputParameters = OutputParameters()


class InferenceRequest(Shape):
    """A request to predict rows."""

    id: str | None = Field(default=None, max_length=MAX_ID)
    # Validated if absent too, so that the rule of the budget is named.
    parameters: InferenceParameters = Field(default={}, validate_default=True)
    inputs: list[InputTensor] = Field(min_length=1, max_length=MAX_INPUTS)
    outputs: list[OutputWish] = Field(default=[])
