"""One problem of positive and unlabelled instances per label, after Elkan and Noto (KDD 2008).

"Learning Classifiers from Only Positive and Unlabeled Data", Section 2: if the annotated instances are a random share
c = Pr(s=1 | y=1) of the true ones, g(x) = Pr(s=1 | x) is c Pr(y=1 | x). So g is an ordinary classifier of annotated
against other instances (`br`), c is estimated from its values on held-out instances, and a label is predicted if
g(x) / c >= 0.5. Its Section 3, and choices that it leaves open:
docs/choices/baselines.md, "Choices of Elkan and Noto's method". With more than 500 labels, g is 0 but for the largest
of each instance, as in `br`, and where c is estimated too.
"""

import numpy as np
from scipy.sparse import csr_array

from mpu_cli.core.frequency.estimators import FEWEST_ANNOTATIONS, CountedCells, elkan_and_noto
from mpu_cli.core.predictions import dense, refuse_large_sample
from mpu_cli.experiment.methods import br


class Method(br.Method):
    """A classifier for each label, with the options of br."""

    def fit(self, X: csr_array, S: csr_array) -> None:
        """Learn; TooLargeError if predictions would not fit in memory."""
        n, q = S.shape
        refuse_large_sample(min(n, self.options.sample), q, "train on fewer instances, or fewer labels")
        super().fit(X, S)
        every, labels = np.arange(q), self.held_out.labels
        enough = labels.sum(axis=0) >= FEWEST_ANNOTATIONS  # the others have c of all labels
        cells = CountedCells.of(dense(self.held_out.probabilities), labels)
        self.c = np.full(q, elkan_and_noto(cells, "e1"))
        self.c[enough] = [elkan_and_noto(cells.of_labels(every[[k]]), "e1") for k in every[enough]]

    def predict(self, X: csr_array) -> np.ndarray:
        """Return g / c, clipped to 1."""
        return np.minimum(super().predict(X) / self.c.astype(np.float32), np.float32(1))
