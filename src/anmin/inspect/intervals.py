"""How far a new observation may lie from a prediction.

Near the fit f is linear in θ = (A, B, b0), with the Jacobian J, and Eq. (1) is a ridge regression:

    H = JᵀJ + nΛ                    Λ = lam; on b0, lam over the unit of y that the fit used
    σ_k² = Σ_i w_i r_ik² / (n − tr H⁻¹J_kᵀJ_k)            the noise of output k
    C = H⁻¹ (Σ_k σ_k² J_kᵀJ_k + nΛΣ) H⁻¹ = R Rᵀ           with one output, σ² H⁻¹
    std_k(x)² = σ_k² + ‖j_k(x) R‖²

where the diagonal Σ has σ_k² for the weights of output k and the least of them for the hidden
layer: how far the penalty alone holds it is not made wider by the noisiest output.
Both layers are in H: the hidden one, whose hinges may move, and the output one. The Jacobian of
output k is J_k = [Z ∘ (b_k ⊗ 1), S], zero for the other outputs' weights, so that every product is
made of ZᵀZ, ZᵀS and SᵀS, and those of the sums of one `PatternPass`. A weight counts as so many
rows, as everywhere.

Several networks in one are not as free as their weights, and many columns of an encoding would make
H too large. There the hidden layer is held fixed: H = SᵀS + nΛ for each output, with as many
unknowns as units, and std_k(x)² = σ_k² (1 + s(x)ᵀ H⁻¹ s(x)). As that leaves out how far the hinges
may move, all σ_k² get one factor: the mean of Σ_k std_k² over the rows is the held-out error.

The firing pattern is held fixed and the noise is one number an output. So intervals are right on
average over the rows, not for each of them where the noise varies, and too narrow where the rows
are few for the weights (83 % instead of 90 % in a trial with 2.5 rows a weight).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular

from anmin.backends import Array, Backend
from anmin.history import Fit
from anmin.network import Network
from anmin.solvers import Problem
from anmin.sources import Batch
from anmin.sums.gram import PatternPass, unpack
from anmin.sums.output import OutputPass, ResidualPass, residual

LARGEST = 4000  # unknowns: R then takes 128 MB, and finding it some seconds and 1 GB
CHUNK = 2**22  # numbers of J at a time


@dataclass(frozen=True, slots=True)
class Intervals:
    """What the standard deviations need beside the network."""

    root: np.ndarray  # R: (unknowns, unknowns); (h + 1, h + 1) for noise 1, the hidden layer fixed
    noise: np.ndarray  # σ²: (q,)

    def std(self, network: Network, X: np.ndarray) -> np.ndarray:
        """Standard deviations of new observations at rows of standardised inputs: (n, q)."""
        size = max(1, CHUNK // len(self.root))
        parts = [self._std(network, X[i : i + size]) for i in range(0, len(X), size)]
        return np.vstack(parts)

    def _std(self, network: Network, X: np.ndarray) -> np.ndarray:
        B, slope, hidden = network.B, network.slope, network.A.size
        (h, q), n = B.shape, len(X)
        P = X @ network.A[1:] + network.A[0]  # (n, h)
        S = np.column_stack([np.maximum(P, slope * P), np.ones(n)])  # (n, h + 1)
        if len(self.root) < hidden + (h + 1) * q:
            V = S @ self.root
            return np.sqrt(np.outer(1 + (V * V).sum(axis=1), self.noise))
        G = np.where(P > 0, 1.0, slope)
        X1 = np.column_stack([np.ones(n), X])  # (n, p)
        variance = np.empty((n, q))
        for k in range(q):
            Z = ((G * B[:, k])[:, :, None] * X1[:, None, :]).reshape(n, hidden)
            V = Z @ self.root[:hidden] + S @ self.root[output_block(hidden, h, k)]
            variance[:, k] = self.noise[k] + (V * V).sum(axis=1)
        return np.sqrt(variance)


def output_block(hidden: int, h: int, k: int) -> slice:
    """Where the weights of output k stand among the unknowns."""
    return slice(hidden + k * (h + 1), hidden + (k + 1) * (h + 1))


def check_size(p: int, h: int, q: int, one: bool = True) -> None:
    """Refuse before the fit what would be too large after it.

    `one` network on plain inputs has both layers in H; of others the output layer is enough.
    """
    if not one and h >= LARGEST:
        raise ValueError(
            f"intervals=True needs fewer than {LARGEST:,} hidden units in all networks together, "
            f"and there may be {h:,}; use a smaller n_networks or n_hidden, or intervals=False."
        )
    unknowns = p * h + (h + 1) * q
    if one and unknowns > LARGEST:
        raise ValueError(
            f"intervals=True needs at most {LARGEST:,} weights and this network may have "
            f"{unknowns:,} ({p - 1} inputs, {h} hidden units, {q} outputs); use "
            f"n_hidden={max((LARGEST - q) // (p + q), 0)} or fewer, or intervals=False."
        )


def fit_intervals(problem: Problem, fit: Fit) -> Intervals:
    """Intervals for a finished fit in the units of y, from two passes over its rows."""
    network, unit = fit.network, problem.source.scaling.y_scale
    if fit.networks > 1 or network.A.size + network.B.size + network.b0.size > LARGEST:
        return with_hidden_fixed(problem, fit)
    sums = JacobianSums.of(problem, network)
    h, q = network.B.shape
    penalty = np.full(sums.size, sums.n * fit.lam)
    penalty[sums.hidden + h :: h + 1] /= unit  # on b0
    H = sums.weighted(np.ones(q))
    H[np.diag_indices_from(H)] += penalty
    T, jitter = inverse_root(H)
    noise = estimate_noise(problem, network, sums.n, sums.degrees(T.T @ T))
    if q == 1:
        return Intervals(np.sqrt(noise) * T.T, noise)
    K = sums.weighted(noise)
    noises = np.concatenate([np.full(sums.hidden, noise.min()), np.repeat(noise, h + 1)])  # Σ
    K[np.diag_indices_from(K)] += noises * (penalty + jitter)
    return Intervals(T.T @ bounded_root(T @ K @ T.T, noise.min(), noise.max()), noise)


def with_hidden_fixed(problem: Problem, fit: Fit) -> Intervals:
    """Intervals from the output layer and the held-out error."""
    be, network, unit = problem.backend, fit.network, problem.source.scaling.y_scale
    stats = problem.source.reduce(OutputPass(be.double(network.A), network.slope))
    StS = be.to_numpy(stats.StS)
    penalty = np.full(len(StS), stats.n * fit.lam)
    penalty[-1] /= unit
    T, _ = inverse_root(StS + np.diag(penalty))
    degrees = float(((T.T @ T) * StS).sum())
    noise = estimate_noise(problem, network, stats.n, np.full(len(network.b0), degrees))
    expected = noise.sum() * (1 + degrees / stats.n)
    if fit.path and expected > 0:
        noise *= min(step.held_out_mse for step in fit.path) / expected
    return Intervals(T.T, noise)


@dataclass(frozen=True, slots=True)
class JacobianSums:
    """The parts of JᵀJ."""

    n: float
    B: np.ndarray  # (h, q)
    ZtZ: np.ndarray  # (h, p, h, p)
    ZtS: np.ndarray  # (h, p, h + 1)
    StS: np.ndarray  # (h + 1, h + 1)

    @classmethod
    def of(cls, problem: Problem, network: Network) -> JacobianSums:
        """From one pass over the rows."""
        be, A = problem.backend, network.A
        p, h = A.shape
        if h == 0:
            n = problem.source.reduce(OutputPass(be.asarray(A), network.slope)).n
            zeros = np.zeros((0, p, 0, p)), np.zeros((0, p, 1))
            return cls(n, network.B, *zeros, np.full((1, 1), n))
        stats = problem.source.reduce(PatternPass(be.asarray(A), network.slope))
        ZtZ = be.to_numpy(unpack(be, stats))
        ZtS = np.empty((h, p, h + 1))
        ZtS[:, :, :h] = np.einsum("jalb,bl->jal", ZtZ, A)
        ZtS[:, :, h] = be.to_numpy(stats.Zt1)
        StS = np.empty((h + 1, h + 1))
        StS[:h] = np.einsum("aj,jal->jl", A, ZtS)
        StS[h, :h], StS[h, h] = StS[:h, h], stats.n
        return cls(stats.n, network.B, ZtZ, ZtS, (StS + StS.T) / 2)

    @property
    def hidden(self) -> int:
        """Unknowns of the hidden layer, which come first, neuron by neuron."""
        return self.ZtZ.shape[0] * self.ZtZ.shape[1]

    @property
    def size(self) -> int:
        h, q = self.B.shape
        return self.hidden + (h + 1) * q

    def cross(self, k: int) -> np.ndarray:
        """J_kᵀJ_k between the hidden layer and the weights of output k."""
        return (self.ZtS * self.B[:, k, None, None]).reshape(self.hidden, len(self.StS))

    def weighted(self, weight: np.ndarray) -> np.ndarray:
        """Σ_k weight_k J_kᵀJ_k: (unknowns, unknowns)."""
        M, m, h = np.zeros((self.size, self.size)), self.hidden, len(self.B)
        BBt = (self.B * weight) @ self.B.T  # (h, h)
        M[:m, :m] = (self.ZtZ * BBt[:, None, :, None]).reshape(m, m)
        for k, w in enumerate(weight):
            own = output_block(m, h, k)
            M[:m, own] = w * self.cross(k)
            M[own, :m] = M[:m, own].T
            M[own, own] = w * self.StS
        return M

    def degrees(self, inverse: np.ndarray) -> np.ndarray:
        """tr H⁻¹J_kᵀJ_k for each output: (q,)."""
        m, (h, q) = self.hidden, self.B.shape
        Q = (inverse[:m, :m].reshape(self.ZtZ.shape) * self.ZtZ).sum(axis=(1, 3))  # (h, h)
        owns = [output_block(m, h, k) for k in range(q)]
        return np.array([
            self.B[:, k] @ Q @ self.B[:, k]
            + 2 * (inverse[:m, own] * self.cross(k)).sum()
            + (inverse[own, own] * self.StS).sum()
            for k, own in enumerate(owns)
        ])  # fmt: skip


def inverse_root(H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """T with TᵀT = (H + jitter)⁻¹, and the least diagonal jitter that makes that definite."""
    c = np.sqrt(H.diagonal())
    c = 1 / np.where(c > 0, c, 1.0)
    scaled = H * c[:, None] * c
    for jitter in 10.0 ** np.arange(-12, 0):
        scaled[np.diag_indices_from(scaled)] = 1 + jitter  # a weight of no effect included
        try:
            L = cholesky(scaled, lower=True)
        except np.linalg.LinAlgError:
            continue
        return solve_triangular(L, np.diag(c), lower=True), (1 + jitter) / c**2 - H.diagonal()
    raise ValueError("the intervals cannot be computed: raise lam, or use fewer hidden units.")


def bounded_root(E: np.ndarray, least: float, largest: float) -> np.ndarray:
    """A root of E = T (Σ_k σ_k² J_kᵀJ_k + nΛΣ) Tᵀ, whose eigenvalues lie between two bounds.

    With σ_k² = 1 for all k, E would be the identity, hence the bounds: the least and the largest
    noise. Rounding may break them where H is nearly singular or the outputs differ in scale.
    """
    try:
        return cholesky(E, lower=True)
    except np.linalg.LinAlgError:
        values, vectors = eigh(E)
        return vectors * np.sqrt(np.clip(values, least, largest))


def estimate_noise(problem: Problem, network: Network, n: float, degrees: np.ndarray) -> np.ndarray:
    """σ_k² for each output, of which the fit takes so many degrees of freedom."""
    be, unit = problem.backend, problem.source.scaling.y_scale
    W = be.asarray(np.vstack([network.B, network.b0]))
    at = ResidualPass(be.asarray(network.A), W, network.slope)
    squares = be.to_numpy(problem.source.reduce(SquaredErrorPass(at, unit)))
    left = n - degrees
    if left.min() < 1:
        warnings.warn(
            f"{n:g} rows leave no freedom to tell noise from fit; the standard deviations "
            "are too small. Raise lam or use fewer hidden units; weights count as rows.",
            UserWarning,
            stacklevel=5,
        )
    return squares / np.maximum(left, 1.0)


@dataclass(frozen=True, slots=True)
class SquaredErrorPass:
    """Σ r² over a batch for each output, in the units of y: all that knows the loss here."""

    at: ResidualPass
    unit: float

    def __call__(self, backend: Backend, batch: Batch) -> Array:
        def part(rows: slice) -> Array:
            R = residual(backend, batch.X[rows], batch.Y[rows] * self.unit, self.at)
            return (R * R).sum(0)

        return backend.sum_over_blocks(part, len(batch))
