"""`python -m app.cli`: how the server starts its worker."""

from app.cli import main

# Processes that it starts import this file, and must not run the command again.
if __name__ == "__main__":
    main()
