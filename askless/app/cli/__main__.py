"""`python -m askless.app.cli`: how the server starts its worker."""

from askless.app.cli import main

# Processes that it starts import this file, and must not run the command again.
if __name__ == "__main__":
    main()
