"""What training reads of a table: values as codes, packed, in folds."""
