"""How often a challenger is promoted that is no better, and how soon one that is."""
