"""Where rows live. One verb: run a kernel over the batches and add up what it returns."""

from anmin.sources.batch import Batch, Kernel
from anmin.sources.local import ArraySource
from anmin.sources.scaling import Scaling

__all__ = ["ArraySource", "Batch", "Kernel", "Scaling"]
