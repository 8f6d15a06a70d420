"""All files of queries use these modules: engine, tables, rows, tenants, the clock."""
