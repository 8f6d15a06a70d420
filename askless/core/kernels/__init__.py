"""Every compiled function, on arrays and records (NamedTuples) of arrays.

A record stands in the file of the kernels that read it. `jit` says why a kernel may
call those of another file. Modules that only training needs are imported at their first
use: to prepare a kernel takes a millisecond, and a prediction needs few.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from askless.core.kernels.asking import (
    LEAST_FALL,
    NONE,
    Offers,
    PlayedCases,
    PlayedEnds,
    RateTerms,
    TableParts,
    choose_look,
    compute_case_log_chances,
    compute_row_log_chances,
    play_by_tables,
    write_rates,
)
from askless.core.kernels.columns import (
    MISSING_CODE,
    NUMBER_CODE,
    ColumnScales,
    standardise_rows,
)
from askless.core.kernels.jit import count_threads, use_threads, watch_compiling
from askless.core.kernels.online.online_records import (
    BIN_WEIGHT,
    EQUALS,
    HAS_TABLE,
    LEAST,
    MEAN,
    MOST,
    MOST_ALPHA,
    N_LEARNERS,
    N_LOOK,
    N_ROWS,
    N_SINCE,
    READS_FEATURE,
    ROWS_PER_CUT,
    SCALE,
    TINY,
    WEIGHT,
    OnlinePace,
    OnlineRows,
    OnlineState,
    OnlineStumps,
)
from askless.core.kernels.records import (
    Best,
    Change,
    CodedTable,
    ColumnFacts,
    Cut,
    Look,
    MovedRows,
)
from askless.core.kernels.served_trees import ServedTrees, add_trees, hiding_effects
from askless.core.kernels.sessions.bounds import Reach, Segments, bound_votes
from askless.core.kernels.sessions.chances import MAX_LOGIT, link_votes, pick_best
from askless.core.kernels.sessions.draws import (
    draw_uniforms,
    first_waiting_draw,
    tally_draws,
)
from askless.core.kernels.sessions.going_on import ALWAYS, LEAST_LEAD, Ways, learn_ways
from askless.core.kernels.sessions.paths import (
    FEATURE,
    GONE,
    HERE,
    KNOWN,
    OPEN,
    PENDING,
    Case,
    Paths,
    add_votes,
    tally_votes,
)
from askless.core.kernels.sessions.plans import compute_plan_length
from askless.core.kernels.sessions.prices import Prices, survey_paths
from askless.core.kernels.sessions.sampled_walks import (
    GOES_ON,
    Draws,
    SampleState,
    tally_payable,
    walk_payable,
    walk_sampled,
)
from askless.core.kernels.sessions.walks import (
    ASKED,
    DONE,
    N_COUNTS,
    SPENT,
    Ends,
    Stages,
    Terms,
    walk_ordered,
)
from askless.core.kernels.tables import (
    CellLayout,
    add_logs,
    code_cells,
    count_cells,
    normalise_logs,
    write_losses,
)

if TYPE_CHECKING:
    from askless.core.kernels.binning import (
        FEW,
        MISSING,
        N_PLACES,
        CutTables,
        encode,
        encode_parallel,
        index_cuts,
        pack_codes,
    )
    from askless.core.kernels.boosted_trees import (
        boost_trees,
        write_stump_gains,
    )
    from askless.core.kernels.histograms import (
        add_moved_rows,
        add_moved_rows_parallel,
    )
    from askless.core.kernels.interpolation import (
        SHARE_ROWS,
        mix_tables,
        shrink_tables,
    )
    from askless.core.kernels.logistic import (
        Penalty,
        fit_logits,
    )
    from askless.core.kernels.newton import (
        ABOVE,
        BELOW,
        CODE,
        IS_CATEGORY,
        IS_NUMBER,
        KIND,
        LOST,
        MISSING_BELOW,
        N_ABOVE,
        N_BELOW,
        N_NODE,
        READS,
        CoarseTable,
        Derivatives,
        Growth,
        TreeRoom,
    )
    from askless.core.kernels.online.online import (
        choose_online_stumps,
        learn_rows,
    )
    from askless.core.kernels.online.online_cuts import adapt_cuts
    from askless.core.kernels.online.prequential import (
        JudgedRows,
        add_judged_rows,
    )
    from askless.core.kernels.scanning import (
        scan,
        scan_parallel,
    )
    from askless.core.kernels.sides import (
        compute_sides,
        count_classes,
    )
    from askless.core.kernels.weights import (
        CHUNK,
        count_sides,
        count_sides_parallel,
        gather_rows,
        gather_rows_parallel,
        move_weights,
        move_weights_parallel,
        write_stump_votes,
    )

#: What training needs besides, by the module that has it.
PLACES = {
    "binning": (
        "FEW",
        "MISSING",
        "N_PLACES",
        "CutTables",
        "encode",
        "encode_parallel",
        "index_cuts",
        "pack_codes",
    ),
    "boosted_trees": ("boost_trees", "write_stump_gains"),
    "histograms": ("add_moved_rows", "add_moved_rows_parallel"),
    "interpolation": ("SHARE_ROWS", "mix_tables", "shrink_tables"),
    "logistic": ("Penalty", "fit_logits"),
    "newton": (
        "ABOVE",
        "BELOW",
        "CODE",
        "IS_CATEGORY",
        "IS_NUMBER",
        "KIND",
        "LOST",
        "MISSING_BELOW",
        "N_ABOVE",
        "N_BELOW",
        "N_NODE",
        "READS",
        "CoarseTable",
        "Derivatives",
        "Growth",
        "TreeRoom",
    ),
    "online.online": ("choose_online_stumps", "learn_rows"),
    "online.online_cuts": ("adapt_cuts",),
    "online.prequential": ("JudgedRows", "add_judged_rows"),
    "scanning": ("scan", "scan_parallel"),
    "sides": ("compute_sides", "count_classes"),
    "weights": (
        "CHUNK",
        "count_sides",
        "count_sides_parallel",
        "gather_rows",
        "gather_rows_parallel",
        "move_weights",
        "move_weights_parallel",
        "write_stump_votes",
    ),
}
MODULES = {name: module for module, names in PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a name of `PLACES` on first use."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
    globals()[name] = value
    return value
