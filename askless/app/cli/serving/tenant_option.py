"""The option that names a tenant, which commands of the database share."""

from typing import Annotated

import typer

FIRST = "default"
Tenant = Annotated[
    str, typer.Option("--tenant", help="Whose: the name of a tenant.", metavar="NAME")
]
