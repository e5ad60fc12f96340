"""The numbers printed in the paper: means (and standard deviations) over 100 random splits.

The paper writes DAE once; whether its inputs were noisy is discussed with the tables.
"""

from typing import NamedTuple

SPLITS = 100
METHODS = ("sgd", "adam", "adam-l", "lbfgs", "anmin", "anmin-l")


class Printed(NamedTuple):
    """A mean over the splits and its standard deviation."""

    mean: float
    sd: float


def _row(*pairs: tuple[float, float]) -> dict[str, Printed]:
    return {method: Printed(*pair) for method, pair in zip(METHODS, pairs, strict=True)}


# Table 3: measure → data → method.
TABLE3 = {
    "train_mse": {
        "sdf": _row((22.43, 5.29), (12.35, 4.48), (9.46, 2.49), (25.71, 62.08), (3.53, 1.05),
                    (3.45, 1.15)),
        "abalone": _row((4.20, 0.08), (4.00, 0.09), (3.99, 0.09), (4.17, 0.16), (3.94, 0.10),
                        (3.95, 0.09)),
        "bike": _row((2422, 100), (2465, 181), (2477, 193), (5710, 4581), (1457, 319),
                     (1555, 465)),
        "year": _row((71.67, 0.16), (70.98, 0.15), (71.01, 0.14), (74.51, 2.55), (72.87, 0.18),
                     (73.08, 0.21)),
        "dae": _row((200.8, 3.1), (165.5, 4.9), (163.4, 4.5), (2990, 9.2), (155.2, 4.0),
                    (150.9, 2.7)),
    },
    "test_mse": {
        "sdf": _row((22.36, 5.18), (12.36, 4.46), (9.48, 2.49), (25.65, 61.96), (3.56, 1.06),
                    (3.48, 1.14)),
        "abalone": _row((4.45, 0.41), (5.05, 1.89), (4.99, 1.71), (4.50, 0.46), (4.64, 0.55),
                        (4.66, 0.95)),
        "bike": _row((2681, 171), (2721, 224), (2737, 239), (5850, 4280), (1714, 385),
                     (1808, 493)),
        "year": _row((76.51, 0.53), (76.71, 0.51), (76.68, 0.55), (77.17, 1.29), (76.88, 0.54),
                     (76.82, 0.49)),
        "dae": _row((207.1, 6.1), (170.8, 7.1), (168.7, 6.1), (2988, 36.8), (160.4, 5.6),
                    (156.1, 4.8)),
    },
    "train_r2": {
        "sdf": _row((0.968, 0.008), (0.982, 0.007), (0.986, 0.004), (0.963, 0.089),
                    (0.995, 0.002), (0.995, 0.002)),
        "abalone": _row((0.596, 0.005), (0.615, 0.005), (0.615, 0.006), (0.598, 0.014),
                        (0.621, 0.007), (0.620, 0.007)),
        "bike": _row((0.926, 0.003), (0.925, 0.006), (0.925, 0.006), (0.826, 0.139),
                     (0.956, 0.010), (0.953, 0.014)),
        "year": _row((0.400, 0.001), (0.406, 0.001), (0.406, 0.001), (0.376, 0.021),
                     (0.390, 0.001), (0.388, 0.002)),
        "dae": _row((0.933, 0.001), (0.945, 0.002), (0.945, 0.002), (0.000, 0.000),
                    (0.948, 0.001), (0.950, 0.002)),
    },
    "test_r2": {
        "sdf": _row((0.968, 0.008), (0.982, 0.006), (0.986, 0.004), (0.963, 0.090),
                    (0.995, 0.002), (0.995, 0.002)),
        "abalone": _row((0.573, 0.028), (0.515, 0.178), (0.521, 0.164), (0.568, 0.035),
                        (0.555, 0.049), (0.554, 0.079)),
        "bike": _row((0.919, 0.005), (0.918, 0.006), (0.917, 0.007), (0.822, 0.130),
                     (0.948, 0.012), (0.945, 0.015)),
        "year": _row((0.360, 0.003), (0.359, 0.003), (0.359, 0.003), (0.355, 0.011),
                     (0.357, 0.003), (0.358, 0.003)),
        "dae": _row((0.931, 0.002), (0.943, 0.002), (0.944, 0.002), (0.000, 0.000),
                    (0.946, 0.002), (0.948, 0.002)),
    },
}  # fmt: skip

# Table 4: seconds on a Core i7 with a GeForce 3080.
TABLE4 = {
    data: dict(zip(METHODS, seconds, strict=True))
    for data, seconds in {
        "sdf": (153, 223, 224, 79.6, 12.8, 19.3),
        "abalone": (9.1, 9.1, 9.1, 16.4, 1.3, 0.9),
        "bike": (40.2, 36.7, 36.0, 35.5, 4.7, 3.2),
        "year": (1089, 1246, 1084, 493, 203, 208),
        "dae": (31.4, 31.1, 31.4, 30.7, 18.1, 18.1),
    }.items()
}

# Table 5: the ablation on bike-sharing, experiment → (train MSE, test MSE).
TABLE5 = {
    1: (Printed(8919, 4095), Printed(9010, 4056)),
    2: (Printed(1826, 660), Printed(2092, 662)),
    3: (Printed(2199, 1972), Printed(2450, 1955)),
    4: (Printed(1457, 319), Printed(1714, 385)),
}

# Table 1: method, complexity in N, d and h, loss, guarantee of a global optimum.
TABLE1 = (
    ("Adam", "N", "d", "h", "any", "no"),
    ("SGD (with a smooth, bounded activation)", "N", "d", "h", "squared", "yes"),
    ("ICA based", "poly(N)", "poly(d)", "exp(h)", "some", "no"),
    ("Convex duality", "Nᵈ", "exp(d)", "–", "squared", "yes"),
    ("Tensor decomposition", "poly(N)", "poly(d)", "poly(h)", "–", "no"),
    ("ANMIN, as printed", "N", "d³", "h³", "squared", "no"),
)
