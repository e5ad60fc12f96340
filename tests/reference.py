"""The paper, transcribed: Algorithm 1 with every sum written as a loop.

Slow on purpose, and free of tricks: this file is what the library is checked against, so it
shares no code with it. Equation numbers are those of the printed paper:

    (1) the loss    (4) the output layer    (5) the loss for a frozen firing pattern
    (6) U_jl        (7) M                   (8) the vector c        (9) (M + lam I) a = c

Notation: X is (n, p) with p = d + 1 and a first column of ones, Y is (n, q), A is (p, h),
B is (h, q), b0 is (q,). Weights are not in the paper: 1/N sum_i becomes 1/W sum_i w_i, with
W = sum_i w_i, everywhere. Misprints are corrected where the comments say so.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Problem:
    """min over A, B, b0 of Eq. (1): the data, their weights, the penalty and the activation."""

    X: np.ndarray  # (n, p), first column 1
    Y: np.ndarray  # (n, q)
    w: np.ndarray  # (n,)
    lam: float
    slope: float


@dataclass(frozen=True)
class Iterate:
    """One turn of Algorithm 1: the network after line 16, and what was met on the way."""

    A: np.ndarray
    B: np.ndarray
    b0: np.ndarray
    loss: float  # Eq. (1)
    mse: float  # its data term
    frozen_loss: float  # Eq. (5) at the new A, with the B, b0 and G that it was solved for
    logdet: float  # ln |M + lam I| of the system that gave A
    condition: float  # of M + lam I
    status: str  # "start", "solved", "floored" or "reinit"
    flips: float  # share of the entries of F that changed
    dead: int  # units that fire for no row
    cells: int  # distinct rows of F


def make_problem(X, y, *, lam, slope=0.0, sample_weight=None, standardize=True):
    """Put the ones in front; with `standardize`, X at mean 0 and deviation 1, and y centred."""
    X, Y = np.array(X, dtype=float), np.array(y, dtype=float).reshape(len(X), -1)
    w = np.ones(len(X)) if sample_weight is None else np.array(sample_weight, dtype=float)
    if standardize:
        X -= weighted_mean(X, w)
        deviation = np.sqrt(weighted_mean(X**2, w))
        X /= np.where(deviation > 0, deviation, 1.0)
        Y -= weighted_mean(Y, w)
    return Problem(np.column_stack([np.ones(len(X)), X]), Y, w, lam, slope)


def weighted_mean(values, w):
    """1/W sum_i w_i v_i."""
    return sum(w[i] * values[i] for i in range(len(w))) / sum(w)


def sigma(t, slope):
    """The activation: slope t + (1 - slope) max(0, t)."""
    return slope * t + (1 - slope) * max(0.0, t)


def hidden(p, A):
    """sigma(X A), entry by entry."""
    n, h = len(p.X), A.shape[1]
    return np.array([[sigma(p.X[i] @ A[:, j], p.slope) for j in range(h)] for i in range(n)])


def network(p, A, B, b0):
    """f(x_i) = sigma((1, x_i) A) B + b0 for every row."""
    H = hidden(p, A)
    q = B.shape[1]
    return np.array([[H[i] @ B[:, k] + b0[k] for k in range(q)] for i in range(len(H))])


def squared_error(p, predicted):
    """The data term of Eq. (1): a mean over rows, a sum over outputs."""
    n, q = p.Y.shape
    total = 0.0
    for k in range(q):
        for i in range(n):
            total += p.w[i] * (predicted[i, k] - p.Y[i, k]) ** 2
    return total / sum(p.w)


def penalty(p, A, B, b0):
    """lam (|b0|^2 + |B|^2 + |A|^2)."""
    return p.lam * sum(value**2 for M in (A, B, b0) for value in np.ravel(M))


def loss(p, A, B, b0):
    """Eq. (1)."""
    return squared_error(p, network(p, A, B, b0)) + penalty(p, A, B, b0)


def firing(p, A):
    """Line 5: F = 1[X A > 0] and G = (1 - slope) F + slope."""
    n, h = len(p.X), A.shape[1]
    F = np.array([[p.X[i] @ A[:, j] > 0 for j in range(h)] for i in range(n)])
    return F, (1 - p.slope) * F + p.slope


def frozen_loss(p, A, B, b0, G):
    """Eq. (5): the loss of A when the pattern G stays as it is."""
    n, q = p.Y.shape
    h = A.shape[1]
    predicted = np.empty((n, q))
    for i in range(n):
        for k in range(q):
            predicted[i, k] = b0[k] + sum(B[j, k] * G[i, j] * (p.X[i] @ A[:, j]) for j in range(h))
    return squared_error(p, predicted) + penalty(p, A, B, b0)


def fit_output(p, A):
    """Eq. (4), one output at a time: (S'S/W + lam I) (b_k; b0_k) = S'y_k / W.

    The paper prints the right side without 1/N, where the gradient of Eq. (1) is not zero.
    """
    S = np.column_stack([hidden(p, A), np.ones(len(p.X))])
    W, size = sum(p.w), S.shape[1]
    K = p.lam * np.eye(size)
    for i in range(len(S)):
        K += p.w[i] * np.outer(S[i], S[i]) / W
    B, b0 = np.empty((size - 1, p.Y.shape[1])), np.empty(p.Y.shape[1])
    for k in range(p.Y.shape[1]):
        right = sum(p.w[i] * p.Y[i, k] * S[i] for i in range(len(S))) / W
        solution = np.linalg.solve(K, right)
        B[:, k], b0[k] = solution[:-1], solution[-1]
    return B, b0


def hidden_system(p, B, b0, G):
    """Line 6: M of Eq. (7), made of the U_jl of Eq. (6), and c of Eq. (8).

    Eq. (8) prints x_i and y_i; they are (1, x_i), a row of X here, and y_ik.
    """
    n, size = p.X.shape
    h, q = B.shape
    W = sum(p.w)
    M, c = np.zeros((h * size, h * size)), np.zeros(h * size)
    for j in range(h):
        block_j = slice(j * size, (j + 1) * size)
        for ell in range(h):
            U = sum(p.w[i] * G[i, j] * G[i, ell] * np.outer(p.X[i], p.X[i]) for i in range(n)) / W
            b_jl = sum(B[j, k] * B[ell, k] for k in range(q))
            M[block_j, ell * size : (ell + 1) * size] = b_jl * U
        for k in range(q):
            for i in range(n):
                c[block_j] += p.w[i] * B[j, k] * (p.Y[i, k] - b0[k]) * G[i, j] * p.X[i] / W
    return M, c


def solve_plain(K, c):
    """Line 8."""
    return np.linalg.solve(K, c)


def solve_floored(K, c, floor):
    """Lines 10 to 12. K is symmetric, so the decomposition is `eigh`; all (d + 1) h eigenvalues
    are floored, where the paper prints d h."""
    D, U = np.linalg.eigh(K)
    for i in range(len(D)):
        D[i] = max(D[i], floor)
    return U @ ((U.T @ c) / D)


def log_determinant(K):
    """ln |K|, and -inf where K is not positive definite."""
    sign, value = np.linalg.slogdet(K)
    return value if sign > 0 else -np.inf


def hidden_step(p, at, *, tau, floor, degenerate, rng):
    """Lines 5 to 14: the next A as (A, status, logdet, condition, frozen_loss), or None to stop.

    `degenerate` is the ablation study's choice for ln |M + lam I| <= tau.
    """
    fresh = rng.standard_normal(at.A.shape) if degenerate == "reinit" else None  # used or not
    _, G = firing(p, at.A)
    M, c = hidden_system(p, at.B, at.b0, G)
    K = M + p.lam * np.eye(len(M))
    logdet = log_determinant(K)
    if logdet > tau:
        a, status = solve_plain(K, c), "solved"
    elif degenerate == "floor":
        a, status = solve_floored(K, c, floor), "floored"
    elif degenerate == "reinit":
        a, status = fresh.T.ravel(), "reinit"
    else:
        return None
    A = a.reshape(at.A.shape[::-1]).T  # neuron after neuron, the paper's order
    return A, status, logdet, np.linalg.cond(K), frozen_loss(p, A, at.B, at.b0, G)


def complete(p, A, status, before=None, *, logdet=np.nan, condition=np.nan, frozen=np.nan):
    """Lines 15 and 16 (2 and 3 for the start): fit B and b0 for A, and evaluate Eq. (1)."""
    B, b0 = fit_output(p, A)
    F, _ = firing(p, A)
    return Iterate(
        A,
        B,
        b0,
        loss(p, A, B, b0),
        squared_error(p, network(p, A, B, b0)),
        frozen,
        logdet,
        condition,
        status,
        flips=0.0 if before is None else np.mean(firing(p, before.A)[0] != F),
        dead=sum(not any(F[:, j]) for j in range(F.shape[1])),
        cells=len({tuple(row) for row in F}),
    )


def algorithm1(p, A, *, max_iter=30, tau=-10_000.0, floor=1e-4, degenerate="floor", rng=None):
    """Algorithm 1 from the first A: all its iterates, the start included."""
    iterates = [complete(p, A, "start")]
    for _ in range(max_iter):
        step = hidden_step(p, iterates[-1], tau=tau, floor=floor, degenerate=degenerate, rng=rng)
        if step is None:
            break
        A, status, logdet, condition, frozen = step
        turn = {"logdet": logdet, "condition": condition, "frozen": frozen}
        iterates.append(complete(p, A, status, iterates[-1], **turn))
    return iterates


def best(iterates):
    """Lines 17 to 20. The start competes, which the paper forgets, and so does the last."""
    chosen = iterates[0]
    for iterate in iterates[1:]:
        if iterate.loss < chosen.loss:
            chosen = iterate
    return chosen
