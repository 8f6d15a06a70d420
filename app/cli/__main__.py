"""`python -m app.cli`: how the server starts its worker."""

from app.cli import main

main()
