"""The paper, reproduced: its experiments, tables and figures, ours beside the printed numbers.

    plan ─▶ run (every (data, method, split) is a file) ─▶ tables, figures ─▶ report.html

Run it from a checkout: `python -m paper run --quick`. The rivals are those of `benchmarks/rivals`.
"""
