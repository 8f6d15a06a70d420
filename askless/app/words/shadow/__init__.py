"""Shadow: a comparison with a log's waterfall, in words, tables and a chart."""
