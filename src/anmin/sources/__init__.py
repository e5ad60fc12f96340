"""Where rows live. One verb: run a kernel over the batches and add up what it returns."""

from anmin.sources.arrays import ArraySource, BatchSource, counting_rows
from anmin.sources.batch import Batch, Kernel, Source, batch_rows
from anmin.sources.chunk import Chunk, Origin
from anmin.sources.cluster import DaskSource
from anmin.sources.files import CSVSource, ParquetSource
from anmin.sources.opening import is_source, open_source, pick, predict_source, without_gaps
from anmin.sources.raw import RawSource
from anmin.sources.scaling import Scaling

__all__ = [
    "ArraySource",
    "Batch",
    "BatchSource",
    "CSVSource",
    "Chunk",
    "DaskSource",
    "Kernel",
    "Origin",
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
