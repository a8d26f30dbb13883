"""From texts to tags in a scikit-learn Pipeline.

    python examples/text_to_tags.py

A third of the tags is missing, and nobody says which.
"""

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline

from mpu_cli import MPUClassifier

WORDS = {
    "politics": "minister law parliament vote election party budget",
    "sport": "team match league goal season coach final",
    "science": "study cells planet telescope theory experiment data",
    "business": "market shares profit bank company merger trade",
    "weather": "rain storm wind temperature forecast snow flood",
    "culture": "film novel painter theatre concert museum stage",
}
TAGS = list(WORDS)


def news(count: int, rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Make up texts of one or two subjects, and their tags as columns of 0 and 1."""
    texts, tags = [], np.zeros((count, len(TAGS)), int)
    for row in tags:
        row[rng.choice(len(TAGS), size=rng.integers(1, 3), replace=False)] = 1
        subjects = [WORDS[TAGS[k]].split() for k in np.flatnonzero(row)]
        texts.append(" ".join(word for words in subjects for word in rng.choice(words, 8)))
    return texts, tags


def main() -> None:
    """Train with a third of the tags missing, and compare with complete ones."""
    rng = np.random.default_rng(0)
    (texts, tags), (new_texts, new_tags) = news(600, rng), news(200, rng)
    annotated = tags * (rng.random(tags.shape) < 2 / 3)
    pipeline = make_pipeline(TfidfVectorizer(), MPUClassifier())
    pipeline.fit(texts, annotated)
    print(f"label frequency  {pipeline[-1].c_[0]:.2f} estimated, {annotated.sum() / tags.sum():.2f} true")
    print(f"micro-F1         {f1_score(new_tags, pipeline.predict(new_texts), average='micro'):.2f}")
    for text, row in zip(new_texts[:3], pipeline.predict(new_texts[:3]), strict=True):
        print(f"{', '.join(TAGS[k] for k in np.flatnonzero(row)):<18} {text}")


if __name__ == "__main__":
    main()
