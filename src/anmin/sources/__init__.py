"""Where rows live. One verb: run a kernel over the batches and add up what it returns."""

from anmin.sources.batch import Batch, Kernel
from anmin.sources.cluster import DaskSource
from anmin.sources.csv import CSVSource
from anmin.sources.iterable import BatchSource
from anmin.sources.local import ArraySource, counting_rows
from anmin.sources.opening import is_source, open_source, pick, predict_source, without_gaps
from anmin.sources.parquet import ParquetSource
from anmin.sources.prepared import Source, batch_rows
from anmin.sources.raw import RawSource
from anmin.sources.scaling import Scaling

__all__ = [
    "ArraySource",
    "Batch",
    "BatchSource",
    "CSVSource",
    "DaskSource",
    "Kernel",
    "ParquetSource",
    "RawSource",
    "Scaling",
    "Source",
    "batch_rows",
    "counting_rows",
    "is_source",
    "open_source",
    "pick",
    "predict_source",
    "without_gaps",
]
