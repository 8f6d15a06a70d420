"""Error against spend: our algorithms beside competitors, under two sorts of prices."""
