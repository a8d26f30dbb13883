"""
Groups of instances that were annotated differently
===================================================

A collection may have several sources: two libraries, a year before and after a new rule, people and a program.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from mpu_cli import IncompleteLabelClassifier

# %%
# Three sources annotate 0.9, 0.6 and 0.3 of the true labels.

rng = np.random.default_rng(0)
true_c = {"library": 0.9, "archive": 0.6, "museum": 0.3}
groups = np.repeat(list(true_c), 1500)
Y = rng.random((4500, 5)) < 0.3
X = Y @ rng.normal(size=(5, 20)) + 1.5 * rng.normal(size=(4500, 20))
S = (Y & (rng.random(Y.shape) < np.repeat(list(true_c.values()), 1500)[:, None])).astype(int)

# %%
# ``groups`` gives each its own label frequency. Without it there is one, which is right for none.

one = IncompleteLabelClassifier(LogisticRegression()).fit(X, S)
by_group = IncompleteLabelClassifier(LogisticRegression()).fit(X, S, groups=groups)
for name, c in true_c.items():
    print(f"{name}: true {c:.2f}, of all {one.c_[0]:.2f}, by group {by_group.group_c_[name]:.2f}")

# %%
# c also says how many labels are missing in each source. One c for all takes far too many in the library for missing.


def missing_by_group(model):
    """Return how many labels are expected to be missing in each group."""
    missing = model.missing_labels()
    return [missing.probabilities[groups[missing.rows] == name].sum() for name in true_c]


numbers = {
    "true": [(Y & (S == 0))[groups == name].sum() for name in true_c],
    "one c": missing_by_group(one),
    "a c for each group": missing_by_group(by_group),
}
figure, axes = plt.subplots(layout="constrained")
for place, (name, values) in enumerate(numbers.items()):
    axes.bar(np.arange(3) + 0.27 * (place - 1), values, width=0.25, label=name)
axes.set_xticks(range(3), list(true_c))
axes.set_ylabel("missing labels")
axes.legend()
plt.show()

# %%
# At the command line: ``mpu estimate-c --groups``, and ``--groups`` of ``mpu train`` and ``mpu suggest``.
