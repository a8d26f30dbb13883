"""
Twenty minutes with arrays
==========================

Go through it cell by cell: on the site, the notebook is
at the end of the page. The pictures need matplotlib (``pip install '.[fast,plot]'``).
"""

# %%
# Labels of which half is missing
# -------------------------------
#
# ``X`` are features, ``Y`` all true labels, which nobody has in practice, and ``S`` those that somebody has annotated.
# Here each true label is annotated with chance 0.5.

import numpy as np

rng = np.random.default_rng(0)
names = np.array(["arts", "football", "music", "news"])
Y = rng.random((2000, 4)) < 0.3
X = Y @ rng.normal(size=(4, 20)) + rng.normal(size=(2000, 20))
S = Y & (rng.random(Y.shape) < 0.5)
train, test = slice(0, 1500), slice(1500, 2000)

# %%
# The usual way
# -------------
#
# A classifier that takes ``S`` for complete learns that labels are rarer than they are, and predicts too few of them.
# Its micro-F1, by the true labels of instances that it has not seen, is low.

from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier

usual = OneVsRestClassifier(LogisticRegression()).fit(X[train], S[train].astype(int))
usual_f1 = f1_score(Y[test], usual.predict(X[test]), average="micro")
print(f"{usual_f1:.2f}")

# %%
# With missing labels in mind
# ---------------------------

from mpu_cli import MPUClassifier

model = MPUClassifier(levels=1, classes=names).fit(X[train], S[train])
predicted = model.predict(X[test])
model_f1 = f1_score(Y[test], predicted, average="micro")
print(f"{model_f1:.2f}")

# %%
# ``c_`` is the label frequency c: the share of the true labels that is annotated. It is estimated from ``X`` and ``S``
# alone, under the assumption that every true label is annotated with the same chance. Here that is so.

print(model.c_.round(2))

# %%
# Where it is not so, c by annotations alone is wrong, and answers to questions mend it:
# :ref:`sphx_glr_gallery_questions.py`.
#
# Labels have names, and a model is saved as the directory that ``mpu predict`` reads.

import tempfile
from pathlib import Path

from mpu_cli import load

with tempfile.TemporaryDirectory() as folder:
    model.save(Path(folder) / "news.mpu")
    print(load(Path(folder) / "news.mpu").predict_labels(X[test][:5]))

# %%
# Any classifier
# --------------
#
# c, probabilities and thresholds need no linear model: they come from out-of-fold scores of any classifier.
# ``IncompleteLabelClassifier`` makes a classifier of scikit-learn one for incomplete labels.

from sklearn.ensemble import RandomForestClassifier

from mpu_cli import IncompleteLabelClassifier

forest = RandomForestClassifier(50, min_samples_leaf=5, random_state=0)
plain_forest = forest.fit(X[train], S[train].astype(int))
any_model = IncompleteLabelClassifier(forest).fit(X[train], S[train])
plain_f1 = f1_score(Y[test], plain_forest.predict(X[test]), average="micro")
forest_f1 = f1_score(Y[test], any_model.predict(X[test]), average="micro")
print(f"forest alone {plain_f1:.2f}, with missing labels in mind {forest_f1:.2f}")

# %%
# Which labels are missing?
# -------------------------
#
# ``missing_labels`` lists cells of the training data that are not annotated and probably true, the most probable first.
# Their probabilities come from scores out of fold: a model that has seen an instance has learned that its missing
# labels are not there.

missing = any_model.missing_labels(top=1200)
right = Y[train][missing.rows, missing.columns]
print(f"{right[:100].mean():.2f} of the first 100 are true, {right.mean():.2f} of all 1,200")

# %%
# Here labels are missing by chance alone. Annotations cannot show that, so the list claims less than is true until
# somebody has decided some of it:

import matplotlib.pyplot as plt

figure, axes = plt.subplots()
count = np.arange(1, 1201)
axes.plot(count, count, color="0.8", label="if all were true")
axes.plot(count, np.cumsum(missing.probabilities), label="expected, by the probabilities")
axes.plot(count, np.cumsum(right), label="true", linestyle="--")
axes.set(xlabel="suggestions", ylabel="missing labels among them")
axes.legend()
plt.show()

# %%
# Honest metrics
# --------------
#
# In practice test labels are incomplete too. Metrics that take them for the truth count right predictions as wrong.
# ``corrected_metrics`` corrects them by c.

from mpu_cli import corrected_metrics

by_annotations = f1_score(S[test], predicted, average="micro")
corrected_f1 = corrected_metrics(S[test], predicted, c=0.5)["micro_f1"]
print(f"by annotations {by_annotations:.2f}, corrected {corrected_f1:.2f}, by true labels {model_f1:.2f}")

# %%
# It is right as far as c is. :doc:`/guide/python` has the rest: sparse matrices, pipelines, questions, clusters.
