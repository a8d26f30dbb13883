// Predict with a model of mpu in JavaScript: node reader.mjs MODEL DATA. The page "The model format" explains it.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const TYPES = { f4: [4, "getFloat32"], f8: [8, "getFloat64"], i1: [1, "getInt8"], i4: [4, "getInt32"], i8: [8, "getBigInt64"] };

// The arrays of an .npz file, by name: a zip archive whose members are stored, each an array in NumPy's format.
function arrays(path, sha256) {
  const file = readFileSync(path);
  if (createHash("sha256").update(file).digest("hex") !== sha256) throw new Error(`${path}: is damaged`);
  const found = {};
  let at = file.readUInt32LE(file.length - 22 + 16); // of the directory, from the last 22 bytes of the archive
  while (file.readUInt32LE(at) === 0x02014b50) {
    const [size, nameLength, extra, comment] = [file.readUInt32LE(at + 24), ...[28, 30, 32].map((i) => file.readUInt16LE(at + i))];
    const name = file.toString("utf8", at + 46, at + 46 + nameLength);
    const header = file.readUInt32LE(at + 42);
    const start = header + 30 + file.readUInt16LE(header + 26) + file.readUInt16LE(header + 28);
    found[name.replace(".npy", "")] = array(file.subarray(start, start + size));
    at += 46 + nameLength + extra + comment;
  }
  return found;
}

function array(npy) {
  const begin = 10 + npy.readUInt16LE(8);
  const header = npy.toString("latin1", 10, begin);
  const [size, get] = TYPES[/'descr': '[<|](\w+)'/.exec(header)[1]];
  const shape = /'shape': \(([^)]*)\)/.exec(header)[1].split(",").filter((n) => n.trim()).map(Number);
  const view = new DataView(npy.buffer, npy.byteOffset + begin);
  const values = Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => Number(view[get](i * size, true)));
  return values;
}

const sigmoid = (z) => Math.fround(1 / (1 + Math.exp(-z)));

function through(p, { predicted, actual }) {
  p = Math.min(Math.max(p, 1e-38), 1 - 2 ** -25);
  const z = Math.log(p / (1 - p));
  const last = predicted.length - 1;
  if (z <= predicted[0]) return sigmoid(actual[0] + z - predicted[0]);
  if (z >= predicted[last]) return sigmoid(actual[last] + z - predicted[last]);
  const i = predicted.findIndex((next) => next > z);
  const share = (z - predicted[i - 1]) / (predicted[i] - predicted[i - 1]);
  return sigmoid(actual[i - 1] + share * (actual[i] - actual[i - 1]));
}

const word = new DataView(new ArrayBuffer(4));
function edge(bin) {
  word.setInt32(0, bin << 12);
  return word.getFloat32(0);
}

function calibrated(p, calibration) {
  if (calibration === null) return p;
  word.setFloat32(0, p);
  const bits = word.getInt32(0);
  const [low, high] = [bits >> 12, (bits >> 12) + 1].map((bin) => through(edge(bin), calibration));
  return Math.fround(low + Math.fround(((bits & 4095) / 4096) * (high - low)));
}

function load(folder) {
  const manifest = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));
  const { predictor } = manifest;
  if (manifest.format_version !== 1) throw new Error(`${folder}: no model of format 1`);
  const levels = manifest.files.map((entry) => arrays(join(folder, entry.file), entry.sha256));
  const rbf = predictor.kernel ? levels.pop() : null;
  const width = rbf ? predictor.kernel.landmarks : manifest.features;
  const rows = predictor.compact ? [...levels[0].known] : Array.from({ length: width }, (_, i) => i);
  const text = manifest.names ? readFileSync(join(folder, manifest.names.file), "utf8") : "";
  const lines = text.split("\n").filter(Boolean).map((line) => line.split("\t"));
  return {
    ...predictor, levels, rbf, q: manifest.labels, first: levels[0],
    rowOf: new Map(rows.map((feature, row) => [feature, row])),
    names: new Map(lines.filter(([, name]) => name).map(([number, name]) => [Number(number), name])),
  };
}

function kernelFeatures({ kernel: { gamma, landmarks: m }, rbf: { mean, deviation, landmarks, normalization } }, x) {
  const values = new Map(x);
  const z = mean.map((at, j) => ((values.get(j) ?? 0) - at) / deviation[j]);
  const similar = Array.from({ length: m }, (_, i) => Math.exp(-gamma * z.reduce((sum, at, j) => sum + (at - landmarks[i * z.length + j]) ** 2, 0)));
  return similar.map((_, r) => [r, similar.reduce((sum, value, i) => sum + value * normalization[r * m + i], 0)]);
}

function probabilities(model, x) {
  if (model.rbf) x = kernelFeatures(model, x);
  const inputs = x.filter(([feature]) => model.rowOf.has(feature)).map(([feature, value]) => [model.rowOf.get(feature), value]);
  for (const [i, level] of model.levels.entries()) {
    const scores = Float64Array.from(level.bias);
    for (const [row, value] of inputs) {
      if (level.weights) for (let k = 0; k < model.q; k++) scores[k] += value * level.weights[row * model.q + k];
      else for (let e = level.indptr[row]; e < level.indptr[row + 1]; e++) scores[level.indices[e]] += value * level.data[e];
    }
    const p = [...scores].map(sigmoid);
    const calibration = model.calibrations[i];
    if (i === model.levels.length - 1) {
      return p.map((value, k) => calibrated(value, Array.isArray(calibration) ? calibration[model.first.strata[k]] : calibration));
    }
    let kept = [...p.keys()];
    if (model.top) kept = kept.sort((a, b) => p[b] - p[a]).slice(0, model.top.most).filter((k) => p[k] >= model.top.least);
    for (const k of kept) {
      const value = calibrated(p[k], calibration);
      if (!model.top || value >= Math.fround(0.01)) inputs.push([model.rowOf.size + i * model.q + k, value * model.scale]);
    }
  }
}

function name(model, number) {
  const text = model.names.get(number) ?? String(number);
  return [...model.names.values()].filter((other) => other === text).length < 2 ? text : `${text} (${number})`;
}

const [folder, data] = process.argv.slice(2);
const model = load(folder);
for (const line of readFileSync(data, "utf8").trimEnd().split("\n")) {
  const tokens = line.split(" ").filter((token) => token.includes(":")).map((token) => token.split(":"));
  const p = probabilities(model, tokens.map(([feature, value]) => [Number(feature), Math.fround(value)]));
  const predicted = [...p.keys()].filter((k) => p[k] >= model.first.thresholds[k]).sort((a, b) => p[b] - p[a]);
  const labels = predicted.map((k) => name(model, model.first.labels[k]));
  console.log(JSON.stringify({ labels, probabilities: predicted.map((k) => p[k]) }));
}
