"""
A denoising autoencoder
=======================

Many outputs at once: the network sees 7 by 7 pixels of a noisy drawing and returns the same 49
pixels without the noise. It learns on drawings made of random strokes and is tried on one that
it has never seen. The best *linear* filter of the same size, ridge regression, stands beside it.
"""

# %%
# Drawings
# --------
# :func:`anmin.datasets.draw_shape` draws strokes of a brush; random strokes give as many pictures
# as one likes. The noise is strong: its deviation is 100 where black is 0 and white is 255.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

from anmin import ANMINRegressor
from anmin.datasets import draw_shape

SIDE, SIZE, NOISE = 160, 7, 100.0
rng = np.random.default_rng(0)


def drawing():
    """Seven strokes: start, bend and end of each, and the brush at both ends."""
    strokes = np.hstack([rng.uniform(0, 1, (7, 6)), rng.uniform(0.01, 0.06, (7, 2))])
    return 255.0 * draw_shape(SIDE, strokes)


def noisy(pixels):
    return pixels + NOISE * rng.normal(size=pixels.shape)


def patches_of(image, step):
    windows = np.lib.stride_tricks.sliding_window_view(image, (SIZE, SIZE))
    return windows[::step, ::step].reshape(-1, SIZE * SIZE)


clean = np.vstack([patches_of(drawing(), 6) for _ in range(8)])  # (5408, 49)
patches = noisy(clean)

# %%
# Two filters
# -----------
# The 49 outputs share one hidden layer, and so most of the work. Ten seconds are plenty.

network = ANMINRegressor(48, max_time=10, random_state=0).fit(patches, clean)
linear = Ridge(100.0).fit(patches, clean)

# %%
# A drawing that they have not seen
# ---------------------------------
# Every pixel lies in up to 49 patches; the average of what they say is the picture.


def restored(model, image):
    windows = np.lib.stride_tricks.sliding_window_view(image, (SIZE, SIZE))
    answers = model.predict(windows.reshape(-1, SIZE * SIZE)).reshape(*windows.shape)
    total, count = np.zeros_like(image), np.zeros_like(image)
    for i in range(SIZE):
        for j in range(SIZE):
            here = np.s_[i : i + windows.shape[0], j : j + windows.shape[1]]
            total[here] += answers[:, :, i, j]
            count[here] += 1
    return total / count


truth = 255.0 * draw_shape(SIDE)
seen = noisy(truth)
pictures = {
    "the drawing": truth,
    "with noise": seen,
    "linear filter": restored(linear, seen),
    f"network of {network.n_hidden_} units": restored(network, seen),
}
figure, axes = plt.subplots(1, 4, figsize=(12, 3.8), layout="constrained")
for axis, (title, picture) in zip(axes, pictures.items(), strict=True):
    error = np.sqrt(np.mean((picture - truth) ** 2))
    axis.imshow(picture, cmap="gray", vmin=0, vmax=255)
    axis.set_title(title if picture is truth else f"{title}\nerror {error:.0f} of 255")
    axis.set_axis_off()
plt.show()

# %%
# A linear filter must blur: it cannot tell an edge from noise. The network can, since its units
# fire on one side of an edge only.
