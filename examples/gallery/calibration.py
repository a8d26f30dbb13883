"""
Probabilities of being true
===========================

Probabilities of ``MPUClassifier`` are that a label is *true*; those of a usual
classifier that it is *annotated*, which is less probable.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from mpu_cli import MPUClassifier

rng = np.random.default_rng(0)
Y = rng.random((8000, 6)) < [0.4, 0.35, 0.3, 0.08, 0.06, 0.05]
X = Y @ rng.normal(size=(6, 10)) + 1.2 * rng.normal(size=(8000, 10))
S = (Y & (rng.random(Y.shape) < 0.5)).astype(int)
train, test = slice(0, 4000), slice(4000, 8000)

models = {
    "one logistic regression for each label": OneVsRestClassifier(LogisticRegression()),
    "MPUClassifier": MPUClassifier(levels=1, features="linear"),
}
probabilities = {name: model.fit(X[train], S[train]).predict_proba(X[test]) for name, model in models.items()}

# %%
# Where predictions are calibrated, of those with probability 0.7 seven in ten are true. Frequent and rare labels are
# looked at apart: what is right for all together may be wrong for each.

strata = {"three frequent labels": slice(0, 3), "three rare labels": slice(3, 6)}
gaps = {}
figure, both = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
for axes, (stratum, columns) in zip(both, strata.items(), strict=True):
    axes.plot([0, 1], [0, 1], color="0.7")
    for (name, p), line in zip(probabilities.items(), [":o", "-o"], strict=True):
        share, mean = calibration_curve(Y[test, columns].ravel(), p[:, columns].ravel(), n_bins=10, strategy="uniform")
        axes.plot(mean, share, line, label=name)
        gaps[stratum, name] = np.abs(share - mean).mean()
    axes.set(title=stratum, xlabel="probability predicted", xlim=(0, 1), ylim=(0, 1))
both[0].set_ylabel("share that is true")
both[0].legend()
plt.show()

# %%
# The mean distance from the diagonal:

for (stratum, name), gap in gaps.items():
    print(f"{stratum:22} {name:40} {gap:.3f}")
