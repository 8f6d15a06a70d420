"""Many rows played as sessions: curves, figures, effects. One case is a session."""
