"""
F1 against the share of labels that is missing
==============================================

A classifier that takes a missing label for a negative predicts ever
fewer labels, the more are missing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier

from mpu_cli import MPUClassifier

rng = np.random.default_rng(0)
Y = rng.random((2000, 6)) < [0.4, 0.3, 0.2, 0.2, 0.1, 0.1]
X = Y @ rng.normal(size=(6, 15)) + 1.2 * rng.normal(size=(2000, 15))
train, test = slice(0, 1500), slice(1500, 2000)

# %%
# The same instances are learned from with more and more labels removed, and judged by complete labels.
# ``MPUClassifier`` is not told how many.

shares = [0.0, 0.2, 0.4, 0.6, 0.8]
classifiers = {
    "one logistic regression for each label": OneVsRestClassifier(LogisticRegression()),
    "MPUClassifier": MPUClassifier(levels=1, features="linear"),
}
f1 = {name: [] for name in classifiers}
estimated = []
for share in shares:
    S = (Y & (rng.random(Y.shape) >= share)).astype(int)
    for name, classifier in classifiers.items():
        f1[name].append(f1_score(Y[test], classifier.fit(X[train], S[train]).predict(X[test]), average="micro"))
    estimated.append(1 - classifiers["MPUClassifier"].c_[0])

figure, axes = plt.subplots()
for (name, values), line in zip(f1.items(), [":o", "-o"], strict=True):
    axes.plot(shares, values, line, label=name)
axes.set(xlabel="share of the training labels that is missing", ylabel="micro-F1 on complete labels", ylim=(0, 1))
axes.legend(loc="lower left")
plt.show()

# %%
# The share that it estimated, from the annotations alone:

for share, estimate in zip(shares, estimated, strict=True):
    print(f"missing {share:.1f}, estimated {estimate:.2f}")
