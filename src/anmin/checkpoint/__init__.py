"""What outlives a fit that is cut short.

A solver is deterministic: given the outcome of each step it makes the same decisions again. So a
checkpoint is a log of outcomes. A run that is started again takes them from the log, without
a pass over the rows, and goes on where the log ends, to the same bits.

    log.py      the file: records, written so that a process may be killed at any moment
    facts.py    what may not change between two runs: parameters and rows
    ledger.py   the outcomes of steps, and the best network for an interrupt
"""

from anmin.checkpoint.facts import fit_facts
from anmin.checkpoint.ledger import Checkpoint, Entry, Ledger
from anmin.checkpoint.log import CheckpointError

__all__ = ["Checkpoint", "CheckpointError", "Entry", "Ledger", "fit_facts"]
