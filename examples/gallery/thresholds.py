"""
Thresholds for frequent, rare and imbalanced labels
===================================================

On incomplete labels the F1 that one can count is
largest at a wrong threshold.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import f1_score

from mpu_cli import MPUClassifier, choose_thresholds, corrected_metrics, out_of_fold

rng = np.random.default_rng(0)
Y = rng.random((5000, 6)) < [0.4, 0.3, 0.2, 0.05, 0.03, 0.02]
X = Y @ rng.normal(size=(6, 8)) + 1.2 * rng.normal(size=(5000, 8))
S = (Y & (rng.random(Y.shape) < 0.4)).astype(int)
train, test = slice(0, 3000), slice(3000, 5000)

# %%
# Out-of-fold probabilities of being true give the F1 of each threshold: counted by annotations, as if they were
# complete; corrected by c; and by the true labels, which nobody has in practice.

held_out = out_of_fold(X[train], S[train], MPUClassifier(levels=1, features="linear"))
p, c = held_out.probabilities, held_out.c[0]
thresholds = np.linspace(0.02, 0.98, 49)
curves = {
    "by annotations": [f1_score(S[train], p >= t, average="micro") for t in thresholds],
    "corrected by c": [corrected_metrics(S[train], p >= t, c=c)["micro_f1"] for t in thresholds],
    "by true labels": [f1_score(Y[train], p >= t, average="micro") for t in thresholds],
}
best = {name: thresholds[np.argmax(values)] for name, values in curves.items()}

figure, axes = plt.subplots()
for (name, values), line in zip(curves.items(), [":", "-", "--"], strict=True):
    (drawn,) = axes.plot(thresholds, values, line, label=name)
    axes.plot(best[name], max(values), "o", color=drawn.get_color())
axes.set(xlabel="threshold", ylabel="micro-F1 of the training instances, out of fold", ylim=(0, 1))
axes.legend()
plt.show()

# %%
# Imbalanced labels
# -----------------
#
# One threshold for all labels maximises micro-F1, in which frequent labels count most. Where each label matters as much
# as any other, ``macro-f1`` chooses a threshold for each.

macro = {}
for criterion in ("pu-f1", "macro-f1"):
    chosen = choose_thresholds(p, S[train], held_out.c, criterion)
    model = MPUClassifier(levels=1, features="linear", c=held_out.c, threshold=criterion).fit(X[train], S[train])
    predicted = model.predict(X[test])
    micro, macro[criterion] = (f1_score(Y[test], predicted, average=average) for average in ("micro", "macro"))
    print(
        f"{criterion:8}  micro-F1 {micro:.2f}  macro-F1 {macro[criterion]:.2f}  thresholds {chosen.thresholds.round(2)}"
    )
