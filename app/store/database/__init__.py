"""What every file of queries needs: engine, tables, rows, tenants and the clock."""
