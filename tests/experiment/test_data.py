import pytest

from mpu_cli.cli.experiment import dataset_name


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
