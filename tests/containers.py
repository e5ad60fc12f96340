"""The same rows in every container that `fit` takes, for the tests of sources and of Dask."""

import os
from contextlib import contextmanager
from itertools import pairwise

import numpy as np

from anmin.sources import BatchSource, CSVSource, ParquetSource

FILES = 3
GROUP = 171  # rows a row group, and in the user's batches: no multiple of anything


def frame(X, y, w=None):
    """Columns x0, x1, …, then y or y0, y1, …, then w."""
    Y = y.reshape(len(y), -1)
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    columns |= {name: Y[:, k] for k, name in enumerate(target_names(y))}
    return columns if w is None else columns | {"w": w}


def target_names(y):
    return ["y"] if y.ndim == 1 else [f"y{k}" for k in range(y.shape[1])]


def cut(n, parts):
    """Edges of uneven parts of n rows."""
    edges = np.linspace(0, n, parts + 1).astype(int)
    edges[1:-1] += 7
    return [slice(*pair) for pair in pairwise(edges)]


def parquet(folder, X, y, w=None, **options):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(frame(X, y, w))
    for i, part in enumerate(cut(len(X), FILES)):
        piece = table.slice(part.start, part.stop - part.start)
        pq.write_table(piece, folder / f"part-{i}.parquet", row_group_size=GROUP)
    return ParquetSource(folder, **named(y, w), **options)


def csv(folder, X, y, w=None, **options):
    import pyarrow as pa
    from pyarrow.csv import write_csv

    table = pa.table(frame(X, y, w))
    for i, part in enumerate(cut(len(X), FILES)):
        write_csv(table.slice(part.start, part.stop - part.start), folder / f"part-{i}.csv")
    return CSVSource(str(folder / "*.csv"), **named(y, w), **options)


def named(y, w):
    names = target_names(y)
    return {"target": names[0] if y.ndim == 1 else names, "weight": None if w is None else "w"}


class Batches:
    """Uneven batches, as often as they are asked for."""

    def __init__(self, *arrays):
        self.arrays = [rows for rows in arrays if rows is not None]

    def __iter__(self):
        for start in range(0, len(self.arrays[0]), GROUP):
            yield tuple(rows[start : start + GROUP] for rows in self.arrays)


def iterable(_, X, y, w=None, **options):
    return BatchSource(Batches(X, y, w), **options)


def memmap(folder, X, y, w=None):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r"), y, w


def dask_array(_, X, y, w=None):
    import dask.array as da

    rows = (150, 250, 5, len(X) - 405)
    parts = [da.from_array(X, chunks=(rows, 1)), da.from_array(y, chunks=(100, *y.shape[1:]))]
    return *parts, None if w is None else da.from_array(w, chunks=(rows,))


def dask_frame(_, X, y, w=None):
    """A dataframe, whose partitions have unknown sizes."""
    import dask.dataframe as dd
    import pandas as pd

    rows = dd.from_pandas(pd.DataFrame(frame(X, y, w)), npartitions=5)
    names = target_names(y)
    inputs = rows[[f"x{j}" for j in range(X.shape[1])]]
    target = rows[names[0]] if y.ndim == 1 else rows[names]
    return inputs, target, None if w is None else rows["w"]


def as_arguments(made):
    """What `fit` takes: a source alone, or X, y and weights."""
    return made if isinstance(made, tuple) else (made,)


@contextmanager
def local_cluster(workers=2):
    """A client of a cluster of processes with one thread each."""
    from distributed import Client, LocalCluster

    os.environ.setdefault("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "60s")
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0",
            memory_limit="1GB",
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        yield client
