"""Pages of tables and trainings."""
