"""
A forest, with missing labels in mind
=====================================

``IncompleteLabelClassifier`` takes any classifier of scikit-learn.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from mpu_cli import IncompleteLabelClassifier

# %%
# Two features and two labels: one is true inside a ring, the other above a wave. Half of the true labels are not
# annotated.

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(4000, 2))
chance = 0.5


def truth(X):
    """Return the true labels: shape (n, 2)."""
    radius = np.hypot(*X.T)
    return np.column_stack([(radius > 0.7) & (radius < 1.5), X[:, 1] > np.sin(2 * X[:, 0])])


Y = truth(X)
S = (Y & (rng.random(Y.shape) < chance)).astype(int)

# %%
# The forest alone predicts a label where most instances have it. With half missing, that is hardly anywhere.

forest = RandomForestClassifier(100, min_samples_leaf=20, random_state=0)
alone = forest.fit(X, S)
model = IncompleteLabelClassifier(forest).fit(X, S)
print(f"c estimated {model.c_[0]:.2f}, true {chance:.2f}")

# %%
# Above the ring, below the wave: where each of them predicts the label.

side = np.linspace(-2, 2, 120)
grid = np.column_stack([axis.ravel() for axis in np.meshgrid(side, side)])
predicted = {
    "true": truth(grid),
    "forest alone": alone.predict(grid),
    "with missing labels in mind": model.predict(grid),
}
agrees = {name: (labels == truth(grid)).mean() for name, labels in predicted.items()}

figure, grid_of_axes = plt.subplots(2, 3, figsize=(9, 6), sharex=True, sharey=True, layout="constrained")
for column, (name, labels) in zip(grid_of_axes.T, predicted.items(), strict=True):
    for k, axes in enumerate(column):
        axes.imshow(
            labels[:, k].reshape(120, 120), origin="lower", extent=(-2, 2, -2, 2), cmap="Blues", vmax=1.5, vmin=0
        )
        shown = S[:, k] == 1
        axes.scatter(*X[shown].T, s=2, color="black")
    column[0].set_title(f"{name}\n{agrees[name]:.0%} of the plane right")
plt.show()

# %%
# Points are annotated instances. The same classifier, with the same trees, is right where its scores are read with c in
# mind.
