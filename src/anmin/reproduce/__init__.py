"""The paper, reproduced: its experiments, tables and figures, ours beside the printed numbers.

Plan → prepare → run (every (data, method, split) a file) → draw → report.html
"""

from anmin.reproduce.experiments import DEFAULT_DATA, STAGES, Plan
from anmin.reproduce.report import draw
from anmin.reproduce.run import Progress, prepare, run

__all__ = ["DEFAULT_DATA", "STAGES", "Plan", "Progress", "draw", "prepare", "run"]
