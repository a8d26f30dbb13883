"""
What c from 40 questions says
=============================

c from annotations alone assumes that a label's true instances are all
annotated with the same chance. A few of your answers need no such assumption.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from mpu_cli import MPUClassifier, estimate_c, questions

# %%
# Eight labels. Where an instance shows them clearly, they are annotated more often: with a chance from 0.1 to 0.9.

rng = np.random.default_rng(0)
Y = rng.random((3000, 8)) < 0.25
clear = rng.random((3000, 1))
X = (0.5 + clear) * (Y @ rng.normal(size=(8, 30))) + 0.8 * rng.normal(size=(3000, 30))
S = (Y & (rng.random(Y.shape) < 0.1 + 0.8 * clear)).astype(int)
true_c = S.sum() / Y.sum()

# %%
# By annotations alone, c is that of the clearest instances: nothing in the annotations shows that the others differ.

alone = estimate_c(X, S)
print(f"true {true_c:.2f}, estimated {alone.c:.2f} ({alone.interval[0]:.2f} to {alone.interval[1]:.2f})")

# %%
# ``questions`` draws cells that are not annotated, so that a yes or no to each tells most of c. Here the truth answers.
# An answer is 1 or -1 in ``reviewed``, and ``sampled`` has the chance with which its cell was drawn.


def by_answers(count):
    """Return c and its interval by so many answers."""
    asked = questions(X, S, count)
    cells = asked.rows, asked.columns
    reviewed, sampled = np.zeros(S.shape), np.zeros(S.shape)
    reviewed[cells], sampled[cells] = np.where(Y[cells], 1, -1), asked.chance
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # answers and annotations contradict each other: that is the point
        model = MPUClassifier(levels=1, features="linear").fit(X, S, reviewed=reviewed, sampled=sampled)
    report = model.record_["c_by_people"]
    return report["c"], report["interval"]


estimates = {"annotations alone": (alone.c, alone.interval)}
for count in (40, 200):
    estimates[f"{count} answers"] = by_answers(count)

figure, axes = plt.subplots(figsize=(7, 2.5), layout="constrained")
for height, (c, (low, high)) in enumerate(reversed(estimates.values())):
    axes.plot([low, high], [height, height], linewidth=6, alpha=0.4, solid_capstyle="butt", color="C0")
    axes.plot(c, height, "o", color="C0")
axes.axvline(true_c, color="black", linestyle="--")
axes.text(true_c, len(estimates) - 0.45, "true c", ha="center")
axes.set(xlim=(0, 1), ylim=(-0.6, len(estimates) - 0.5), xlabel="label frequency c, 90 % interval")
axes.set_yticks(range(len(estimates)), list(reversed(estimates)))
plt.show()

# %%
# The interval from 40 answers contains the true c; that from annotations alone does not. :doc:`/guide/limits` says what
# annotations can show, and what not. At the command line: ``mpu suggest --questions 40``.
