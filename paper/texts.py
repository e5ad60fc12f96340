"""What the report says beside its tables and figures: the protocol, and where we depart from it."""

from benchmarks.rivals import SGD_RATES
from paper.data import CASES
from paper.methods import SGD_TRIAL
from paper.summary import Results
from paper.trainers import Size

PROTOCOL = """
Data: X at mean 0 and sample deviation 1 over all rows, y centred but not scaled. Split k is
train_test_split(test_size=0.2, random_state=k).

Network: two layers, 64 hidden units (DAE: 32); ReLU, or leaky ReLU with slope 0.1 for the methods
with -L.

SGD and Adam: {epochs} epochs of batches of 256 (YearPredictionMSD: 2,048), the rate divided by 10
after each third; PyTorch, float32, no weight decay. Adam starts at 0.03.

SGD's rate, which the paper tunes but does not print: whole runs on the first split at the rates
{rates}, in this order, until one ends with a higher training MSE than one before it. The best of
them is used on every split.

LBFGS: {lbfgs_steps} steps of PyTorch's LBFGS at rate 0.01 without line search (up to 20 inner
iterations a step), batches of 100,000; the network with the lowest training MSE counts.

ANMIN: Algorithm 1, {iterations} iterations from a standard normal A; the network with the lowest
loss of Eq. (1) counts.

Rows that the paper does not have: Adam on standardised targets; MLPRegressor's L-BFGS with line
search on standardised targets, {line_search_steps} iterations; boosted trees
(HistGradientBoostingRegressor; left out on DAE, where they would need a model for each of 225
outputs); this library's default solver, once at the paper's penalty and once with the penalty
chosen on held-out rows.

Simulations: x ~ N(0, I), y = sin ‖x‖², N rows to train and N to test, 64 units.

R² is about the mean of the training targets, on both parts; with many outputs it is pooled. MSE is
a mean over rows and outputs.

Times: one core and one thread for every method; errors on the way are measured with the clock
stopped. Reading and scaling the data is not on the clock.

Bold as in the paper: the best of the six methods, and those whose paired t-test against it gives
p > 0.01, which a method can owe to errors that scatter widely. A tinted cell: the same among all
rows, those that the paper does not have included.
"""

DEVIATIONS = """
The constants 0.001 (λ), −10,000 (τ) and 0.0001 (the floor) of the paper's experiments act on sums
over the rows. For Eq. (1), with its mean, they are λ = 0.001/N, τ = −10,000 − (d+1)h ln N and
0.0001/N, and are used so.

Eq. (4) is used with the factor 1/N that its right side lacks; the start and the last iterate
compete for the best network; line 11 of Algorithm 1 runs over (d+1)h values.

ANMIN runs in float64, the paper in float32, where the log-determinant on bike-sharing is often not
finite. Table 5 shows both.

Where M has more than 3,000 rows (DAE, YearPredictionMSD) the hidden system is solved by conjugate
gradients and M is not formed.

A run of SGD or LBFGS ends when its error or its weights are no longer finite: it cannot come back.
Its time is that until then.

The paper used a GeForce 3080; compare ratios of times, not times.
"""

TWO_DAES = """
DAE is run twice. The text adds noise to the inputs, the author's public notebook does not. The
printed errors of ANMIN lie near ours with clean inputs; with noisy inputs all methods end higher.
"""

LBFGS_TRAINS = """
On DAE the paper prints the spread of the targets (R² = 0) for LBFGS; here it trains.
"""


def paragraphs(text: str) -> list[str]:
    """Paragraphs of a text, each as one line.

    >>> paragraphs("one\\ntwo\\n\\nthree")
    ['one two', 'three']
    """
    return [" ".join(part.split()) for part in text.split("\n\n")]


def protocol(size: Size) -> list[str]:
    """How every number was made."""
    facts = {
        "epochs": size.epochs,
        "rates": ", ".join(f"{rate:g}" for rate in SGD_RATES),
        "iterations": size.iterations,
        "lbfgs_steps": size.lbfgs_steps,
        "line_search_steps": f"{size.line_search_steps:,}",
    }
    return paragraphs(PROTOCOL.format(**facts))


def deviations(results: Results) -> list[str]:
    """Where this differs from the paper, and why."""
    said = paragraphs(DEVIATIONS)
    if results.has("dae", "anmin") and results.has("dae-clean", "anmin"):
        said += paragraphs(TWO_DAES)
    if results.has("dae", "lbfgs") or results.has("dae-clean", "lbfgs"):
        said += paragraphs(LBFGS_TRAINS)
    rates = [
        f"{CASES[data].title} {record.note}"
        for data in CASES
        for record in results.of(data, "sgd")[:1]
        if results.has(data, SGD_TRIAL)
    ]
    return [*said, f"SGD's rates by the rule above: {', '.join(rates)}."] if rates else said
