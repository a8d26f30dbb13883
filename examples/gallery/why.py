"""
Why is this label suggested?
============================

Which words of a text speak for a missing label.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from mpu_cli import IncompleteLabelClassifier

# %%
# Short texts on one or two subjects, of whose labels a third is missing.

WORDS = {
    "politics": "minister law parliament vote election party budget",
    "sport": "team match league goal season coach final",
    "weather": "rain storm wind temperature forecast snow flood",
    "culture": "film novel painter theatre concert museum stage",
}
labels = list(WORDS)
rng = np.random.default_rng(0)
Y = np.zeros((800, 4), int)
texts = []
for row in Y:
    row[rng.choice(4, size=rng.integers(1, 3), replace=False)] = 1
    subjects = [WORDS[labels[k]].split() for k in np.flatnonzero(row)]
    texts.append(" ".join(word for words in subjects for word in rng.choice(words, 4)))
S = Y * (rng.random(Y.shape) < 2 / 3)

vectorizer = TfidfVectorizer()
X = vectorizer.fit_transform(texts)
model = IncompleteLabelClassifier(LogisticRegression(C=10)).fit(X, S)
missing = model.missing_labels(top=100)
true_share = Y[missing.rows, missing.columns].mean()
print(f"{true_share:.2f} of the first 100 suggestions are true")

# %%
# Of a linear classifier, the score of a label is a sum over words: weight times value. What adds most is the reason.

words = vectorizer.get_feature_names_out()
figure, several = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
reasons = []
tagged = [(i, k) for i, k in zip(missing.rows, missing.columns, strict=True) if S[i].any()]
for axes, (i, k) in zip(several, tagged, strict=False):
    adds = X[[i]].toarray()[0] * model.estimators_[k].coef_[0]
    most = np.flatnonzero(adds)
    most = most[np.argsort(adds[most])]
    reasons.append((labels[k], words[most[-1]]))
    axes.barh(words[most], adds[most], color=np.where(adds[most] > 0, "C0", "C1"))
    axes.set(title=f"{labels[k]}?\nannotated: {', '.join(np.array(labels)[S[i] > 0])}", xlabel="adds to the score")
plt.show()

# %%
# At the command line, ``mpu suggest --why`` lists such words beside each suggestion, and the page of ``mpu review``
# highlights them in the text.
