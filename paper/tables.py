"""The tables of the paper, ours beside the printed numbers, as cells of text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite, log

import numpy as np

from paper import published, trainers
from paper.data import CASES
from paper.methods import (
    ABLATION,
    ARITHMETICS,
    FAIR,
    GROWTH,
    METHODS,
    PAPER,
    SGD_TRIAL,
)  # fmt: skip
from paper.summary import Results, Verdict, number, pair, paper_key, printed

ABOUT_TABLE5 = (
    "In the paper experiments 2 and 3 differ by 1.8 standard errors. Where no system is "
    "degenerate, 1 and 3 are the last network of one run and 2 and 4 its best. The columns with "
    "constants on sums or means are this library: degenerate is what Cholesky cannot factorise. As "
    "printed, in float32 with constants on sums: ln|M + λI| and the step by LU, the pseudoinverse "
    "by SVD. Rounding makes the determinant negative at times and its logarithm NaN: neither above "
    "τ, as line 7 of Algorithm 1 asks of a system to be solved, nor less than τ, as the text asks "
    "of a degenerate one."
)
STOPPED = {1: "printed", 2: "printed-nan", 3: "printed-nan", 4: "printed-nan"}
MEASURES = {
    "train_mse": "MSE train",
    "test_mse": "MSE test",
    "train_r2": "R² train",
    "test_r2": "R² test",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A number for a reader, with a smaller line under it."""

    text: str
    small: str = ""
    bold: bool = False
    best: bool = False  # of all rows, the fair ones included


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its words; a row begins with its name."""

    name: str
    title: str
    caption: str
    head: Sequence[str]
    rows: list[list[Cell]] = field(default_factory=list)
    words: int = 1  # columns of words, set to the left; the rest are numbers

    def flat(self) -> list[list[str]]:
        """The rows for a CSV file."""
        return [[f"{c.text} [{c.small}]" if c.small else c.text for c in row] for row in self.rows]


def all_tables(results: Results) -> list[Table]:
    """Every table for which there are runs."""
    tables = [table1(results), table2(results)]
    tables += [table3(results, data) for data in known_data(results)]
    tables += [table4(results), table5(results)]
    return [table for table in tables if table.rows]


def known_data(results: Results) -> list[str]:
    """The sets with runs of a method of Table 3, in the paper's order."""
    return [data for data in CASES if any(results.has(data, method) for method in METHODS)]


def known_methods(results: Results, data: str, methods: Sequence[str]) -> list[str]:
    return [method for method in methods if results.has(data, method)]


def against_paper(results: Results) -> Table:
    """ANMIN and ANMIN-L: our means against the printed ones."""
    table = Table(
        "check",
        "ANMIN beside the paper",
        "A mean agrees when it differs from the printed one by no more than the larger of 15 % and "
        "two standard errors of the difference. The paper prints one DAE; both are set beside it.",
        ("Data", "Method", "MSE", "Ours", "Paper", "Difference", ""),
        words=3,
    )
    for data in known_data(results):
        for method in known_methods(results, data, ("anmin", "anmin-l")):
            for measure in ("train_mse", "test_mse"):
                if (theirs := printed(measure, data, method)) is None:
                    continue
                verdict = Verdict(results.summary(data, method, measure), theirs)
                gap = f"{verdict.difference:+.1%}".replace("-", "−")
                names = (CASES[data].title, METHODS[method].title, measure.removesuffix("_mse"))
                values = (str(verdict.ours), pair(*theirs), gap)
                row = [Cell(text) for text in (*names, *values)]
                table.rows.append([*row, Cell(verdict.words, bold=verdict.words == "worse")])
    return table


def table1(results: Results) -> Table:
    """Methods and complexity, and how our time grew."""
    table = Table(
        "table1",
        "Table 1. Methods and how their cost grows",
        "As printed, then measured here: the exponent of the seconds an iteration takes when rows, "
        "inputs or units are doubled twice. Forming M costs N(dh)², factorising it (dh)³; at these "
        "sizes the first rules, so the exponents stay below the printed bound of 3.",
        ("Method", "in N", "in d", "in h", "Loss", "Global optimum"),
        [[Cell(text) for text in row] for row in published.TABLE1],
        words=6,
    )
    for method, name in GROWTH.items():
        exponents = list(growth_exponents(results, method))
        if exponents:
            powers = [f"{axis}^{power:.1f}" for axis, power in exponents]
            table.rows.append([Cell(f"{name}, measured"), *map(Cell, powers), Cell("squared"),
                               Cell("no")])  # fmt: skip
    return table


def growth_exponents(results: Results, method: str) -> Iterator[tuple[str, float]]:
    """The slope of log seconds against log N, d and h, each with the other two at their least."""
    runs = [record for record in results.records if record.method == method]
    sizes = np.array([(r.n_train, r.d, r.h) for r in runs])
    if len(runs) == 0:
        return
    least = sizes.min(0)
    for k, axis in enumerate("Ndh"):
        others = [j for j in range(3) if j != k]
        line = (sizes[:, others] == least[others]).all(1)
        x = np.log(sizes[line, k])
        y = [log(record.seconds) for record, on in zip(runs, line, strict=True) if on]
        if len(set(x)) > 1:
            yield axis, float(np.polyfit(x, y, 1)[0])


def table2(results: Results) -> Table:
    """The data sets, as they were run."""
    table = Table(
        "table2",
        "Table 2. Data sets",
        "N counts all rows; four fifths of them train.",
        ("Data", "N", "d", "h", "Outputs", "Splits"),
    )
    for data in known_data(results):
        methods = known_methods(results, data, tuple(METHODS))
        runs = [record for method in methods for record in results.of(data, method)]
        one, splits = runs[0], len({record.split for record in runs})
        counts = (one.n_train + one.n_test, one.d, one.h, one.q, splits)
        table.rows.append([Cell(CASES[data].title), *(Cell(f"{count:,}") for count in counts)])
    return table


def table3(results: Results, data: str) -> Table:
    """Errors on one set: a row a method, the paper's numbers under ours."""
    six = known_methods(results, data, PAPER)
    everyone = known_methods(results, data, (*PAPER, *FAIR))
    table = Table(
        f"table3-{data}",
        f"Table 3. {CASES[data].title}",
        table3_remark(results, data),
        ("Method", *MEASURES.values()),
    )
    good = {m: results.best(data, six, m)[1] if six else set() for m in MEASURES}
    best = {m: results.best(data, everyone, m)[1] for m in MEASURES}
    for method in everyone:
        row = [Cell(METHODS[method].title, small="" if method in PAPER else "not in the paper")]
        for measure in MEASURES:
            found = results.summary(data, method, measure)
            theirs = printed(measure, data, method)
            small = [f"paper {pair(*theirs)}"] if theirs else []
            if found.lost and found.count:
                small.insert(0, f"{found.lost} of {found.lost + found.count} blew up")
            words = str(found) if found.count else "blew up"
            marks = method in good[measure], method in best[measure]
            row.append(Cell(words, "\n".join(small), *marks))
        table.rows.append(row)
    return table


def table3_remark(results: Results, data: str) -> str:
    """What must be said beside the numbers of a set."""
    words = ""
    if data == "bike":
        words = (
            "The input casual stays, as in the paper, although casual + registered = count: good "
            "for comparison, not for forecasting. "
        )
    if data == "dae":
        words = "Inputs with noise, as the text of the paper says. "
    if data == "dae-clean":
        words = "Inputs equal to the targets, as the author's public notebook has it. "
    if results.has(data, SGD_TRIAL):
        note = next((record.note for record in results.of(data, "sgd")), "")
        words += f"SGD: {note}. " if note else ""
    return words


def table4(results: Results) -> Table:
    """Seconds, with the ratio to Adam."""
    data = known_data(results)
    table = Table(
        "table4",
        "Table 4. Seconds to train",
        "Mean seconds, one core for every method (see the machine below for a GPU). Under them: "
        "how many times faster than Adam here, then in the paper.",
        ("Method", *(CASES[name].title for name in data)),
    )
    for method in METHODS:
        if not any(results.has(name, method) for name in data):
            continue
        row = [Cell(METHODS[method].title)]
        for name in data:
            seconds = results.summary(name, method, "seconds").mean
            row.append(Cell(number(seconds), ratios(results, name, method, seconds)))
        table.rows.append(row)
    return table


def ratios(results: Results, data: str, method: str, seconds: float) -> str:
    """Adam's time over this one, here and in the paper."""
    adam = results.summary(data, "adam", "seconds").mean
    ratio = adam / seconds
    parts = [f"{ratio:.{1 if ratio >= 10 else 2}f}×"] if isfinite(ratio) else []
    theirs = published.TABLE4.get(paper_key(data), {})
    if method in theirs:
        parts.append(f"paper {theirs['adam'] / theirs[method]:.1f}×")
    return "\n".join(parts)


def table5(results: Results) -> Table:
    """The ablation on bike-sharing, in single and double precision."""
    found = [name for name in ABLATION if results.has("bike", name)]
    columns = [a for a in ARITHMETICS if any(ABLATION[name][1] == a for name in found)]
    table = Table(
        "table5",
        "Table 5. Ablation on bike-sharing",
        table5_remark(results, columns),
        ("", "Kept", "If degenerate", "Paper", *(ARITHMETICS[a].title for a in columns)),
        words=3,
    )
    for number_, experiment in trainers.ABLATION.items() if found else ():
        train, test = published.TABLE5[number_]
        cells = [Cell(pair(*train), f"test {pair(*test)}")]
        for arithmetic in columns:
            name = f"ablation-{arithmetic}-{number_}"
            ours_, other = (results.summary("bike", name, m) for m in ("train_mse", "test_mse"))
            cells.append(Cell(str(ours_), f"test {other}"))
        first = [f"{number_}", experiment.keep, experiment.degenerate]
        table.rows.append([*map(Cell, first), *cells])
    return table


def table5_remark(results: Results, columns: list[str]) -> str:
    """The order of the four rows by training MSE, here and in the paper."""
    readings = {ARITHMETICS[a].title: dict.fromkeys(trainers.ABLATION, a) for a in columns}
    readings["as printed, NaN solved but in experiment 1, which stops"] = STOPPED
    said = ["paper " + order({n: row[0].mean for n, row in published.TABLE5.items()})]
    for title, arithmetics in readings.items():
        means = {
            n: results.summary("bike", f"ablation-{arithmetic}-{n}", "train_mse").mean
            for n, arithmetic in arithmetics.items()
        }
        if all(map(isfinite, means.values())):
            said.append(f"{title} {order(means)}")
    orders = "; ".join(said)
    return f"Training MSE, test MSE under it. Order by training MSE: {orders}. {ABOUT_TABLE5}"


def order(means: dict[int, float]) -> str:
    """Experiments from the lowest mean to the highest.

    >>> order({1: 9.0, 2: 2.0, 3: 2.0, 4: 1.0})
    '4 < 2 = 3 < 1'
    """
    ranked = sorted(means, key=lambda n: (means[n], n))
    words = str(ranked[0])
    for before, after in pairwise(ranked):
        words += f" {'=' if np.isclose(means[before], means[after], rtol=1e-9) else '<'} {after}"
    return words
