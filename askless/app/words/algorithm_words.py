"""A line on each algorithm and effort to choose from; more in docs/choosing.md."""

ALGORITHM_WORDS = {
    "auto": "Panels; easy cases end early where that pays.",
    "panels": "For each budget the features that it buys, and how to weigh them.",
    "adaboost_bt_smoothed": "Stumps by gain and price, evened out by what was spent.",
    "adaboost_bt_greedy": "Stumps by gain for their price; cheap features first.",
    "hybrid": "Greedy at first, then smoothed.",
    "speedboost": "The loss that each unit of cost takes away decides.",
    "adaboost": "The largest edge; prices don't choose.",
    "adaboost_bt": "AdaBoost, paying each feature once; prices don't choose.",
    "adaboost_rs": "AdaBoost whose votes are drawn while the budget lasts.",
    "cascade": "Rejects most cases after cheap features; two classes.",
    "online": "Stumps from one pass over the rows; votes are drawn as above.",
    "decision_tree": "One tree that knows no prices: a yardstick.",
    "bagging": "Many trees that know no prices: a yardstick.",
    "random_forest": "Many random trees that know no prices: a yardstick.",
}
EFFORT_WORDS = {
    "fast": "Fast: a first look.",
    "standard": "Standard.",
    "thorough": "Thorough: validated on every fold.",
}
