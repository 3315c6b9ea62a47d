"""The workloads that are timed: the eighteen rows of the table, and more of them for ``--all``.

Sizes are those at which users of embeddings, graphs, beam search and histograms call these operators.  Float32 data and
int64 indices, uniformly drawn, unless it says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gscompile.bench.kinds import embedding_bag, gather, gather_nd, message_passing, put, scatter, take
from gscompile.bench.workload import Workload, all_equal, ascending, distinct, zipf
from gscompile.errors import ArgumentError

TINY = "tiny_take"  # timed with everything that a user's call does, and apart from the means


def _named(workloads: Sequence[Workload]) -> dict[str, Workload]:
    return {w.name: w for w in workloads}


WORKLOADS = _named(
    [
        take("embed_rows_zipf", (50_000, 128), (100_000,), zipf(1.1)),
        take("embed_rows_wide", (32_000, 2048), (8_192,)),
        take("embed_rows_thin", (200_000, 16), (1_000_000,)),
        take("select_columns", (4096, 4096), (1024,), axis=1),
        gather("elements_last", (4096, 1024), (4096, 256), 1),
        gather("elements_first", (4096, 1024), (4096, 1024), 0),
        gather_nd("nd_slices", (8, 128, 128, 64), 3, 100_000),
        gather_nd("nd_points", (1024, 1024), 2, 1_000_000),
        # no duplicates: with most peers it is undefined which of several rows stays
        put("scatter_nd_rows", (214_272, 64), 30_000, draw=distinct),
        put("index_add_rows", (10_000, 64), 200_000, "add", zipf(0.8)),
        put("index_add_sorted", (10_000, 64), 200_000, "add", ascending(zipf(0.8))),
        scatter("elements_add_first", (10_000, 64), (200_000, 64), 0, "add"),
        put("index_max_rows", (10_000, 64), 200_000, "max", zipf(0.8)),
        put("histogram_add", (4_096,), 4_000_000, "add", zipf(1.0)),
        message_passing("message_passing", 400_000, 20_000, 64),
        embedding_bag("embedding_bag", 100_000, 64, 4_096, 50),
        take("beam_reorder", (64, 32, 512), (64, 32), axis=1, batch_dims=1),
        take(TINY, (1_000,), (100,)),
    ]
)

MORE = _named(
    [
        # other dtypes
        take("embed_rows_float16", (50_000, 768), (20_000,), zipf(1.1), dtype="float16"),
        take("embed_rows_int32_index", (50_000, 128), (100_000,), zipf(1.1), index_dtype="int32"),
        take("embed_rows_int8", (1_000_000, 64), (500_000,), dtype="int8"),
        gather("elements_last_float64", (4096, 1024), (4096, 256), 1, dtype="float64"),
        put("index_add_float16", (10_000, 64), 200_000, "add", zipf(0.8), dtype="float16"),
        put("index_add_int32", (10_000, 64), 200_000, "add", zipf(0.8), dtype="int32"),
        message_passing("message_passing_int32_index", 400_000, 20_000, 64, index_dtype="int32"),
        # other ranks
        take("kv_cache_pages", (4_096, 16, 8, 64), (2_048,)),
        take("middle_axis", (64, 1_000, 256), (500,), axis=1),
        take("index_grid", (30_000, 300), (128, 256)),
        gather("elements_middle", (64, 512, 128), (64, 256, 128), 1),
        gather("beam_scores", (512, 32_000), (512, 64), 1),
        gather_nd("nd_voxels", (32, 64, 64, 64), 4, 500_000),
        scatter("elements_add_last", (4_096, 1_024), (4_096, 4_096), 1, "add"),
        put("put_blocks", (8_192, 16, 64), 2_048, draw=distinct),
        # other distributions
        take("embed_rows_sorted", (50_000, 128), (100_000,), ascending(zipf(1.1))),
        take("embed_rows_one", (50_000, 128), (100_000,), all_equal),
        put("index_add_uniform", (10_000, 64), 200_000, "add"),
        put("index_add_one", (10_000, 64), 200_000, "add", all_equal),
        put("index_add_many_rows", (1_000_000, 64), 200_000, "add"),
        put("histogram_uniform", (4_096,), 4_000_000, "add"),
        put("histogram_one", (4_096,), 4_000_000, "add", all_equal),
        put("histogram_wide", (10_000_000,), 4_000_000, "add"),
        put("index_min_rows", (10_000, 64), 200_000, "min", zipf(0.8)),
    ]
)

ALL = {**WORKLOADS, **MORE}


def choose(words: Sequence[str], everything: bool = False) -> list[Workload]:
    """The workloads whose names contain one of the words, or all: of the table's rows, or of all there are.

    Raises:
        ArgumentError: no name contains a word.
    """
    return among(ALL, words) if everything else among(WORKLOADS, words, "; more with --all")


def among(pool: Mapping[str, Workload], words: Sequence[str], hint: str = "") -> list[Workload]:
    """Those whose names contain one of the words, or all.

    Args:
        hint: for the error, where there are more.

    Raises:
        ArgumentError: no name contains a word.
    """
    for word in words:
        if not any(word in name for name in pool):
            raise ArgumentError(f"bench: no workload is called {word!r}; known: {', '.join(pool)}{hint}")
    return [w for w in pool.values() if not words or any(word in w.name for word in words)]
