import pytest

from mpu_cli.experiment.design import Design
from mpu_cli.experiment.running import dataset_name


@pytest.mark.parametrize(
    ("sources", "name"),
    [
        (("a/news.svm.gz",), "news"),
        (("news-train.svm",), "news-train"),
        (("news-train.svm", "b/news-test.svm.gz"), "news"),
        (("news-a-train.svm", "news-a-test.svm"), "news-a"),
        (("news.svm", "bibtex.svm"), "news"),
    ],
)
def test_data_are_called_after_their_files(sources, name):
    assert dataset_name(sources) == name


def design(asked, folds: int) -> Design:
    return Design(methods=("br",), missing_rates=(0.0,), instances=asked, folds=folds)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (None, (100,)),
        ((20, 40), (20, 40)),
        ((20, 40, ...), (20, 40, 80)),
        ((10, 30, ...), (10, 30, 90)),
        ((80, 160, ...), (80,)),
    ],
)
def test_numbers_of_instances(asked, expected):
    assert design(asked, 5).on(100).instances == expected
