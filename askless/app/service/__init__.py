"""One file per noun: read from the store, compute with core, write to the store."""
