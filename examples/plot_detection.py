"""
Finding digits in a cluttered picture
=====================================

A classifier that knows digits does not know what is *not* a digit, and a window that slides over a
picture meets mostly that. So a detector is trained in rounds: search pictures whose digits are
known, take what it wrongly finds (the *hard negatives*) among the examples, fit again. Then windows
that overlap are reduced to the best of them, and precision and recall are measured on new pictures.
"""

# %%
# Pictures
# --------
# scikit-learn's digits, 8 by 8 pixels, at random places of larger pictures, among strokes and
# fragments of other digits, and noise. Digits of the test pictures are in no training picture.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from anmin import ANMINClassifier

SIDE, SIZE, PER_PICTURE, CLUTTER = 64, 8, 6, 40
images, labels = load_digits(return_X_y=True)
images = images.reshape(-1, SIZE, SIZE) / 16
train, test, train_labels, test_labels = train_test_split(
    images, labels, test_size=0.3, random_state=0, stratify=labels
)


def cluttered(images, labels, rng):
    """A picture (SIDE, SIDE), and (row, column, label) of the digits in it."""
    picture = np.zeros((SIDE, SIDE))
    for _ in range(CLUTTER):
        row, column = rng.integers(0, SIDE - 4, 2)
        if rng.random() < 0.5:  # a corner of some digit
            part = images[rng.integers(len(images))][rng.integers(5) :, rng.integers(5) :][:4, :4]
        else:  # a stroke
            part = np.eye(4)[:, :: rng.choice([-1, 1])] if rng.random() < 0.5 else np.ones((1, 4))
        here = picture[row : row + part.shape[0], column : column + part.shape[1]]
        np.maximum(here, rng.uniform(0.4, 0.9) * part, out=here)
    places = []
    while len(places) < PER_PICTURE:
        row, column = rng.integers(0, SIDE - SIZE + 1, 2)
        if all(max(abs(row - r), abs(column - c)) > SIZE for r, c, _ in places):
            k = rng.integers(len(images))
            picture[row : row + SIZE, column : column + SIZE] = images[k]
            places.append((int(row), int(column), int(labels[k])))
    return np.clip(picture + 0.05 * rng.standard_normal(picture.shape), 0, 1), places


def windows(picture):
    """All windows of the size of a digit as rows, and their places."""
    view = np.lib.stride_tricks.sliding_window_view(picture, (SIZE, SIZE))
    rows, columns = np.indices(view.shape[:2])
    return view.reshape(-1, SIZE * SIZE), np.column_stack([rows.ravel(), columns.ravel()])


# %%
# The detector
# ------------
# Eleven classes: ten digits, and 10 for the ground. A window is a find where a digit has a higher
# decision value than the ground by a threshold; of finds that overlap by a half the best stays.

GROUND, THRESHOLD = 10, 0.2


def search(model, picture, threshold=THRESHOLD):
    """What the model finds: (row, column, label, score), the best first, none overlapping."""
    X, places = windows(picture)
    values = model.decision_function(X)
    best = values[:, :GROUND].argmax(axis=1)
    score = values[np.arange(len(X)), best] - values[:, GROUND]
    found = []
    for k in np.argsort(-score):
        if score[k] < threshold:
            break
        row, column = places[k]
        if all(abs(row - r) + abs(column - c) >= SIZE // 2 for r, c, *_ in found):
            found.append((int(row), int(column), int(best[k]), float(score[k])))
    return found


def matches(found, places):
    """For each find the digit that is there, at most a pixel away, or None."""
    free, answer = list(places), []
    for row, column, *_ in found:
        near = [p for p in free if max(abs(p[0] - row), abs(p[1] - column)) <= 1]
        answer.append(near[0] if near else None)
        if near:
            free.remove(near[0])
    return answer


def fitted(X, y):
    return ANMINClassifier(
        48, lam=1e-3, n_networks=1, encoding=None, max_iter=40, max_time=8, random_state=0
    ).fit(X, y)


# %%
# Hard negatives
# --------------
# The first ground is windows at random. After that come the windows of training pictures that the
# detector took for digits. Pictures also give the digits as they look there, under noise.

rng = np.random.default_rng(0)
pictures = [cluttered(train, train_labels, rng) for _ in range(30)]
X, y = [train.reshape(-1, SIZE * SIZE)], [train_labels]
for picture, places in pictures:
    cut = {(r, c): picture[r : r + SIZE, c : c + SIZE].ravel() for r, c, _ in places}
    X.append(np.array(list(cut.values())))
    y.append(np.array([label for *_, label in places]))
    rows, at = windows(picture)
    apart = [all(max(abs(r - a), abs(c - b)) > 2 for a, b, _ in places) for r, c in at]
    some = rng.choice(np.flatnonzero(apart), 30, replace=False)
    X.append(rows[some])
    y.append(np.full(30, GROUND))


def judged(model, seed, count=20):
    """Precision and recall on new pictures, and the share of the finds with the right label."""
    rng = np.random.default_rng(seed)
    right = named = found = true = 0
    for _ in range(count):
        picture, places = cluttered(test, test_labels, rng)
        finds = search(model, picture)
        pairs = [(f, p) for f, p in zip(finds, matches(finds, places), strict=True) if p]
        right, found, true = right + len(pairs), found + len(finds), true + len(places)
        named += sum(f[2] == p[2] for f, p in pairs)
    return right / max(found, 1), right / true, named / max(right, 1)


curve = []
for turn in range(4):
    model = fitted(np.concatenate(X), np.concatenate(y))
    precision, recall, named = judged(model, seed=1)
    curve.append((precision, recall))
    print(f"round {turn}: {sum(map(len, y))} examples, precision {precision:.2f}, ", end="")
    print(f"recall {recall:.2f}, right label {named:.2f}")
    for picture, places in pictures:
        finds = search(model, picture, threshold=0.0)
        wrong = [f for f, p in zip(finds, matches(finds, places), strict=True) if p is None]
        if wrong:
            X.append(np.array([picture[r : r + SIZE, c : c + SIZE].ravel() for r, c, *_ in wrong]))
            y.append(np.full(len(wrong), GROUND))

# %%
# The picture
# -----------
# A new picture with what was found: green where a digit is, red where none is; its label above.

picture, places = cluttered(test, test_labels, np.random.default_rng(7))
finds = search(model, picture)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
left.imshow(picture, cmap="gray_r")
for (row, column, label, _), place in zip(finds, matches(finds, places), strict=True):
    colour = "#009E73" if place else "#D55E00"
    left.add_patch(
        plt.Rectangle((column - 0.5, row - 0.5), SIZE, SIZE, fill=False, color=colour, linewidth=2)
    )
    left.text(column - 0.5, row - 1.2, str(label), color=colour, weight="bold")
left.set(title=f"{len(finds)} finds, {len(places)} digits", xticks=[], yticks=[])
for values, name, colour in zip(
    np.transpose(curve), ("precision", "recall"), ("#0072B2", "#E69F00"), strict=True
):
    right.plot(values, "o-", color=colour, label=name)
right.set(xlabel="rounds of hard negatives", xticks=range(len(curve)), title="On new pictures")
right.legend()
right.grid(alpha=0.3)
plt.show()
