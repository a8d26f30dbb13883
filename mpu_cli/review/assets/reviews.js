"use strict";
// What has been decided: kept in the browser, an entry for each instance, and written to and read from review files.

const STAR = "*";
const WORDS = { yes: true, no: false };

class Reviews {
  // data: file, checksum, key, source; storage: the browser's, or null where it has none
  constructor(data, storage) {
    this.data = data;
    this.storage = storage;
    this.byInstance = new Map(); // number of the instance -> Map of label or STAR -> true or false
    for (const item of data.items) this.reload(item.n);
    this.unexported = Number(this.get("unexported")) || 0;
  }

  of(instance) {
    return this.byInstance.get(instance) ?? new Map();
  }

  isClosed(instance) {
    return this.of(instance).has(STAR);
  }

  // verdict: true, false, or undefined for undecided; label: a number as text, or STAR, which takes false alone
  decide(instance, label, verdict) {
    const decisions = this.of(instance);
    if (decisions.get(label) === verdict) return;
    if (verdict === undefined) decisions.delete(label);
    else decisions.set(label, verdict);
    this.byInstance.set(instance, decisions);
    this.put(instance, decisions.size ? JSON.stringify([...decisions]) : null);
    this.countUnexported(this.unexported + 1);
  }

  countUnexported(count) {
    this.unexported = count;
    this.put("unexported", String(count));
  }

  reload(instance) {
    let kept = [];
    try {
      kept = [...new Map(JSON.parse(this.get(instance) ?? "[]"))].filter(isDecision);
    } catch {
      // not ours
    }
    this.byInstance.set(instance, new Map(kept));
  }

  // The instance of an entry of the storage, undefined for other entries.
  instanceOf(key) {
    const prefix = `${this.data.key}/`;
    const instance = key?.startsWith(prefix) ? Number(key.slice(prefix.length)) : NaN;
    return this.byInstance.has(instance) ? instance : undefined;
  }

  get(name) {
    return this.storage?.getItem(`${this.data.key}/${name}`) ?? null;
  }

  put(name, text) {
    try {
      if (text === null) this.storage?.removeItem(`${this.data.key}/${name}`);
      else this.storage?.setItem(`${this.data.key}/${name}`, text);
    } catch {
      this.storage = null; // full, or forbidden
    }
  }

  get size() {
    let size = 0;
    for (const decisions of this.byInstance.values()) size += decisions.size;
    return size;
  }

  // The review file: tab-separated text, a decision on each line.
  toText() {
    const lines = [
      `# review of ${this.data.file.replace(/\s+/g, " ")}`,
      `# checksum ${this.data.checksum}`,
      ["instance", "label", "verdict", "source"].join("\t"),
    ];
    for (const instance of [...this.byInstance.keys()].sort((a, b) => a - b)) {
      for (const [label, verdict] of this.of(instance)) {
        lines.push([instance, label, verdict ? "yes" : "no", this.data.source].join("\t"));
      }
    }
    return lines.join("\n") + "\n";
  }

  // Take the decisions of a review file; all of them or, where something is wrong with it, none: that throws an Error.
  // Returns how many there were, and how many of these are on instances that are not on this page.
  take(text) {
    const rows = parse(text, this.data.checksum, numbersByName(this.data));
    let elsewhere = 0;
    for (const { instance, label, verdict } of rows) {
      if (this.byInstance.has(instance)) this.decide(instance, label, verdict);
      else elsewhere += 1;
    }
    return { count: rows.length, elsewhere };
  }
}

function isDecision([label, verdict]) {
  return label === STAR ? verdict === false : /^\d{1,10}$/.test(label) && typeof verdict === "boolean";
}

// The number of each label by its name, and by name and number; null where several labels have that name.
function numbersByName({ named, numbers, names }) {
  const found = new Map();
  if (!named) return found;
  numbers.forEach((number, i) => found.set(`${names[i]} (${number})`, String(number)));
  const seen = new Set();
  numbers.forEach((number, i) => {
    found.set(names[i], seen.has(names[i]) ? null : String(number));
    seen.add(names[i]);
  });
  return found;
}

// What a cell may stand for: spreadsheets quote, and an apostrophe keeps them from taking a name for a formula.
function meanings(text) {
  const quoted = /^"((?:[^"]|"")*)"$/.exec(text);
  const forms = quoted ? [quoted[1].replace(/""/g, '"'), text] : [text];
  return forms.flatMap((form) => (/^'+[=+\-@＋－＝＠]/.test(form) ? [form.slice(1), form] : [form]));
}

function labelOf(text, known, fail) {
  if (text === STAR || /^\d{1,10}$/.test(text)) return text;
  const form = meanings(text).find((each) => known.has(each));
  if (form === undefined) fail(`“${text}” is no label`);
  return known.get(form) ?? fail(`“${text}” is the name of several labels; write the number of one`);
}

function parse(text, checksum, known) {
  const rows = [];
  const seen = new Map();
  let columns = null;
  text.replace(/^\ufeff/, "").split(/\r?\n/).forEach((line, i) => {
    const fail = (problem) => { throw new Error(`line ${i + 1}: ${problem}`); };
    if (/^"?#/.test(line)) {
      const found = /^"?#\s*checksum\s+([0-9a-f]{64})/i.exec(line);
      if (found && found[1].toLowerCase() !== checksum) fail("this is a review of other data; its checksum differs");
      return;
    }
    if (!line.trim()) return;
    const fields = line.split("\t").map((field) => field.trim());
    if (!columns) {
      const names = fields.map((name) => name.toLowerCase());
      columns = ["instance", "label", "verdict"].map((name) => names.indexOf(name));
      if (columns.includes(-1)) fail("the columns instance, label and verdict should be named here, separated by tabs");
      return;
    }
    const [instance, written, word] = columns.map((column) => fields[column] ?? "");
    if (!/^0*[1-9]\d{0,14}$/.test(instance)) fail(`“${instance}” is no number of an instance`);
    const label = labelOf(written, known, fail);
    const verdict = WORDS[word.toLowerCase()];
    if (verdict === undefined && word) fail(`verdict “${word}” is not yes, no or empty`);
    if (label === STAR && verdict) fail("* takes no verdict but no");
    if (verdict === undefined) return;
    const row = { instance: Number(instance), label: label === STAR ? STAR : String(Number(label)), verdict };
    const cell = `${row.instance} ${row.label}`;
    if (seen.has(cell) && seen.get(cell) !== verdict) fail(`contradicts an earlier line about label ${label}`);
    seen.set(cell, verdict);
    rows.push(row);
  });
  if (!columns) throw new Error("the file is empty");
  return rows;
}
