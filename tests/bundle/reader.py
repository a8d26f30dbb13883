"""Predict with a model of mpu by NumPy alone: python reader.py MODEL DATA. The page "The model format" explains it."""

import json
import sys
from pathlib import Path

import numpy as np


class Model:
    def __init__(self, folder):
        self.manifest = json.loads((folder / "manifest.json").read_text())
        if self.manifest["format_version"] != 1:
            raise SystemExit(f"{folder}: this reader is for models of format 1")
        self.predictor = self.manifest["predictor"]
        self.levels = [dict(np.load(folder / entry["file"])) for entry in self.manifest["files"]]
        self.first = self.levels[0]
        kernel = self.predictor["kernel"]
        self.rbf = self.levels.pop() if kernel else None
        width = kernel["landmarks"] if kernel else self.manifest["features"]
        rows = self.first["known"] if self.predictor["compact"] else np.arange(width)
        self.row_of = {feature: row for row, feature in enumerate(rows.tolist())}
        names = (folder / self.manifest["names"]["file"]).read_text() if "names" in self.manifest else ""
        lines = (line.split("\t") for line in names.split("\n") if line)
        self.names = {int(number): name for number, name, *_ in lines if name}

    def probabilities(self, x):
        """Of each label, from the value of each feature."""
        if self.rbf is not None:
            x = dict(enumerate(self.kernel_features(x)))
        inputs = [(self.row_of[feature], value) for feature, value in x.items() if feature in self.row_of]
        for i, (level, calibration) in enumerate(zip(self.levels, self.predictor["calibrations"], strict=True)):
            p = sigmoid(sum((value * row(level, at) for at, value in inputs), level["bias"].astype(float)))
            if i == len(self.levels) - 1:
                break
            stacked, least = calibrated(p, calibration), 0
            if top := self.predictor["top"]:
                kept = np.argsort(-p, kind="stable")[: top["most"]]
                stacked = np.where(np.isin(np.arange(len(p)), kept[p[kept] >= top["least"]]), stacked, 0)
                least = np.float32(0.01)
            first_row = len(self.row_of) + i * len(p)
            inputs += [(first_row + k, stacked[k] * self.predictor["scale"]) for k in np.flatnonzero(stacked >= least)]
        if isinstance(calibration, list):
            return np.stack([calibrated(p, of) for of in calibration])[self.first["strata"], np.arange(len(p))]
        return calibrated(p, calibration)

    def kernel_features(self, x):
        values = np.array([x.get(feature, 0.0) for feature in range(self.manifest["features"])])
        z = (values - self.rbf["mean"]) / self.rbf["deviation"]
        distances = np.square(self.rbf["landmarks"] - z).sum(axis=1)
        return self.rbf["normalization"] @ np.exp(-self.predictor["kernel"]["gamma"] * distances)

    def predict(self, x):
        """Return the name and the probability of each predicted label, the most probable first."""
        p = self.probabilities(x)
        predicted = [k for k in np.argsort(-p, kind="stable") if p[k] >= self.first["thresholds"][k]]
        return [(self.name(int(self.first["labels"][k])), float(p[k])) for k in predicted]

    def name(self, number):
        name = self.names.get(number, str(number))
        return name if list(self.names.values()).count(name) < 2 else f"{name} ({number})"


def row(level, at):
    if "weights" in level:
        return level["weights"][at].astype(float)
    entries = slice(*level["indptr"][at : at + 2])
    values = np.zeros(len(level["bias"]))
    values[level["indices"][entries]] = level["data"][entries]
    return values


def sigmoid(z):
    return (1 / (1 + np.exp(-z))).astype(np.float32)


def calibrated(p, calibration):
    if calibration is None:
        return p
    bits = p.view(np.int32)
    low, high = (through(edge.view(np.float32), **calibration) for edge in (bits >> 12 << 12, (bits >> 12) + 1 << 12))
    return low + (bits & 4095).astype(np.float32) / np.float32(4096) * (high - low)


def through(p, predicted, actual):
    p = np.clip(p.astype(float), 1e-38, 1 - 2.0**-25)
    z = np.log(p / (1 - p))
    beyond = np.maximum(z - predicted[-1], 0) + np.minimum(z - predicted[0], 0)
    return sigmoid(np.interp(z, predicted, actual) + beyond)


if __name__ == "__main__":
    model = Model(Path(sys.argv[1]))
    for line in Path(sys.argv[2]).read_text().splitlines():
        values = (token.split(":") for token in line.split() if ":" in token)
        labels = model.predict({int(feature): float(np.float32(value)) for feature, value in values})
        print(json.dumps({"labels": [name for name, _ in labels], "probabilities": [p for _, p in labels]}))
