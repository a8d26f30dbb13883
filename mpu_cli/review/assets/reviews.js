"use strict";
// What has been decided: kept in the browser, an entry for each instance, and written to and read from review files.

const STAR = "*";
const OF_BROWSER = new Set(["reviewer", "advance", "shortcuts"]); // kept for all pages
const MOST_STEPS = 500; // that can be undone
const KEPT = ["source", "probability", "drawn", "reviewer"]; // columns that a decision keeps which is read from a file
const SOURCES = new Set(["sample", "suggestion", "question", "added", ""]);
const WORDS = new Map([["yes", true], ["no", false], ["", undefined]]); // a Map has no words but its own

class Reviews {
  // data: file, checksum, key, source, most; storage: the browser's, or null where it has none
  constructor(data, storage) {
    this.data = data;
    this.storage = storage;
    this.byInstance = new Map(); // number of the instance -> Map of label or STAR -> true or false
    this.exported = new Map(); // the same, as of the last export
    this.before = new Map(); // the same, as the page was made with it; some instances are not on the page
    this.read = new Map(); // cell -> verdict and columns in the file that it was read from
    const rows = data.decided ? parse(data.decided, data) : [];
    for (const row of rows) {
      if (!this.before.has(row.instance)) this.before.set(row.instance, new Map());
      this.before.get(row.instance).set(row.label, row.verdict);
      this.read.set(`${row.instance} ${row.label}`, row);
    }
    for (const instance of new Set([...data.items.map(({ n }) => n), ...this.before.keys()])) this.reload(instance);
    this.reviewer = this.get("reviewer"); // null: nobody was asked
    this.reloadSteps();
    this.shown = new Map(); // cells that the page shows to be decided -> their columns; others were added
    for (const { n, s, a } of data.items) {
      for (const i of a) this.shown.set(`${n} ${data.numbers[i]}`, { source: data.source });
      for (const [i, probability, drawn] of s) {
        const source = drawn === undefined ? data.source : "question";
        this.shown.set(`${n} ${data.numbers[i]}`, { source, probability, drawn, listed: true });
      }
    }
  }

  // Whether a column is filled in for a cell.
  has(column) {
    return [...this.shown.values(), ...this.read.values()].some((columns) => (columns[column] ?? "") !== "");
  }

  // Who has decided a cell; undefined where this page, or nobody, has.
  by(instance, label) {
    const read = this.read.get(`${instance} ${label}`);
    return read && read.verdict === this.of(instance).get(label) ? read.reviewer ?? "" : undefined;
  }

  of(instance) {
    return this.byInstance.get(instance) ?? new Map();
  }

  isClosed(instance) {
    return this.of(instance).has(STAR);
  }

  // verdict: true, false, or undefined for undecided; label: a number as text, or STAR, which takes false alone
  decide(instance, label, verdict) {
    this.decideAll([{ instance, label, verdict }]);
  }

  // Each instance is kept once, however many of its labels are decided.
  decideAll(rows) {
    const changed = new Set();
    const before = [];
    for (const { instance, label, verdict } of rows) {
      const decisions = this.of(instance);
      if (decisions.get(label) === verdict) continue;
      before.push({ instance, label, verdict: decisions.get(label) });
      if (verdict === undefined) decisions.delete(label);
      else decisions.set(label, verdict);
      changed.add(instance);
    }
    for (const instance of changed) this.keep(instance);
    if (before.length) this.setSteps([...this.steps, before]);
  }

  // Take the last step back; returns one of its cells, undefined where there is none.
  undo() {
    const before = this.steps.at(-1);
    if (!before) return undefined;
    const others = this.steps.slice(0, -1); // undoing is no step
    this.decideAll([...before].reverse());
    this.setSteps(others);
    return before[0];
  }

  // What can be undone: for each step, the cells that it changed, as they were. Kept as instance, label, verdict.
  setSteps(steps) {
    this.steps = steps.slice(-MOST_STEPS);
    const kept = this.steps.map((cells) => cells.map(({ instance, label, verdict }) => [instance, label, verdict ?? null]));
    this.put("steps", kept.length ? JSON.stringify(kept) : null);
  }

  reloadSteps() {
    const isCell = (cell) => Array.isArray(cell) && this.byInstance.has(cell[0]) && this.isState(cell[1], cell[2]);
    const steps = listOf(this.get("steps")).filter((cells) => Array.isArray(cells) && cells.length && cells.every(isCell));
    const asCell = ([instance, label, verdict]) => ({ instance, label, verdict: verdict ?? undefined });
    this.steps = steps.map((cells) => cells.map(asCell));
  }

  // Labels with verdicts, as of now and as of the last export; null: undecided.
  entries(instance) {
    const [now, then] = [this.of(instance), this.exported.get(instance)];
    const every = new Set([this.before.get(instance) ?? now, now, then].flatMap((decisions) => [...decisions.keys()]));
    return [...every].map((label) => {
      const read = this.read.get(`${instance} ${label}`);
      return [label, now.get(label) ?? null, then.get(label) ?? null, ...(read ? [read] : [])];
    });
  }

  keep(instance) {
    const entries = this.entries(instance);
    this.put(instance, entries.length ? JSON.stringify(entries) : null);
  }

  changesOf(instance) {
    return this.entries(instance).filter(([, now, then]) => now !== then).length;
  }

  get unexported() {
    return [...this.byInstance.keys()].reduce((sum, instance) => sum + this.changesOf(instance), 0);
  }

  setExported() {
    for (const [instance, decisions] of this.byInstance) {
      if (!this.changesOf(instance)) continue;
      this.exported.set(instance, new Map(decisions));
      this.keep(instance);
    }
  }

  setReviewer(name) {
    this.reviewer = name.trim();
    this.put("reviewer", this.reviewer);
  }

  reload(instance) {
    const kept = listOf(this.get(instance)).filter(Array.isArray);
    [this.byInstance, this.exported].forEach((of, i) => {
      const decisions = new Map(this.before.get(instance));
      for (const entry of kept) {
        const [label, verdict] = [entry[0], entry[1 + i]];
        if (verdict === null) decisions.delete(label);
        else if (this.isState(label, verdict)) decisions.set(label, verdict);
      }
      of.set(instance, decisions);
    });
    for (const [label, , , read] of kept) if (read) this.read.set(`${instance} ${label}`, read);
  }

  // What other pages of these data keep in this browser, and have not exported, where it is not decided so here: each
  // cell once. Its verdict is undefined where they contradict each other; then the rest of the instance is left out.
  leftElsewhere() {
    const [own, ofData] = [`${this.data.key}/`, this.data.key.replace(/[^/]*$/, "")];
    const keys = Object.keys(this.storage ?? {}).filter((key) => key.startsWith(ofData) && !key.startsWith(own));
    const rows = keys.flatMap((key) => {
      const instance = whole(key.slice(key.lastIndexOf("/") + 1), this.data.most.instance);
      const entries = listOf(instance && this.storage.getItem(key)).filter(Array.isArray);
      return entries.map(([label, verdict, exported, read]) => ({ key, instance, label, verdict, exported, read }));
    });
    const isNew = ({ verdict, exported }) => verdict !== null && verdict !== exported;
    const isElse = ({ instance, label, verdict }) => this.of(instance).get(label) !== verdict;
    const left = new Map();
    for (const row of rows.filter((row) => isNew(row) && this.isState(row.label, row.verdict) && isElse(row))) {
      const place = `${row.instance} ${row.label}`;
      const { keys, verdict } = left.get(place) ?? { ...row, keys: [] };
      left.set(place, { ...row, keys: [...keys, row.key], verdict: verdict === row.verdict ? verdict : undefined });
    }
    for (const { instance, verdict } of left.values()) if (verdict === undefined) left.delete(`${instance} ${STAR}`);
    return [...left.values()];
  }

  // Take these decisions; to their pages, what is decided so here counts as exported.
  takeLeft(rows) {
    for (const { instance, label, read } of rows) if (read) this.read.set(`${instance} ${label}`, read);
    this.decideAll(rows);
    for (const [key, instance] of new Map(rows.flatMap(({ keys, instance }) => keys.map((key) => [key, instance])))) {
      const entries = listOf(this.storage?.getItem(key)).filter(Array.isArray);
      const isHere = ([label, verdict]) => this.of(instance).get(label) === verdict;
      const kept = entries.map((entry) => (isHere(entry) ? [entry[0], entry[1], entry[1], ...entry.slice(3)] : entry));
      this.store(key, JSON.stringify(kept));
    }
  }

  // The instance of an entry of the storage, undefined for other entries.
  instanceOf(key) {
    const prefix = `${this.data.key}/`;
    const instance = this.storage && key?.startsWith(prefix) ? Number(key.slice(prefix.length)) : NaN;
    return this.byInstance.has(instance) ? instance : undefined;
  }

  // null: undecided
  isState(label, verdict) {
    if (label === STAR) return verdict === false || verdict === null;
    return [true, false, null].includes(verdict) && String(whole(label, this.data.most.label)) === label;
  }

  // A whole number from 0 up, whatever was kept.
  number(name) {
    return Math.min(Math.max(Math.trunc(Number(this.get(name))) || 0, 0), Number.MAX_SAFE_INTEGER);
  }

  key(name) {
    return `${OF_BROWSER.has(name) ? "mpu-review" : this.data.key}/${name}`;
  }

  get(name) {
    return this.storage?.getItem(this.key(name)) ?? null;
  }

  put(name, text) {
    this.store(this.key(name), text);
  }

  store(key, text) {
    try {
      if (text === null) this.storage?.removeItem(key);
      else this.storage?.setItem(key, text);
    } catch {
      this.storage = null; // full, or forbidden
    }
  }

  get size() {
    let size = 0;
    for (const decisions of this.byInstance.values()) size += decisions.size;
    return size;
  }

  // The review file: tab-separated text, a decision or an undecided suggestion on each line, in the order of the page; a
  // label by name, and its number for those without.
  toText() {
    const { data } = this;
    const ids = new Map(data.items.filter(({ i }) => i !== undefined).map(({ n, i }) => [n, i]));
    const place = new Map(data.numbers.map((number, i) => [String(number), i]));
    const written = (label) => (place.has(label) ? data.written[place.get(label)] ?? data.names[place.get(label)] : label);
    const of = (column) => (instance, label, verdict) => {
      const [read, shown] = [this.read, this.shown].map((cells) => cells.get(`${instance} ${label}`));
      const own = shown ?? { source: label === STAR ? data.source : "added" };
      return cell(String((read && (read.verdict === verdict || !shown) ? { ...own, ...read } : own)[column] ?? ""));
    };
    const idOf = (instance, label) => cell(ids.get(instance) ?? this.read.get(`${instance} ${label}`)?.id ?? "");
    const by = (instance, label, verdict) =>
      verdict === undefined ? "" : cell(this.by(instance, label) ?? this.reviewer ?? "");
    const columns = {
      instance: (instance) => instance,
      ...(ids.size ? { id: idOf } : {}),
      label: (_, label) => (data.named ? written(label) : label),
      ...(data.named ? { number: (_, label) => label } : {}),
      ...(this.has("probability") ? { probability: of("probability") } : {}),
      ...(this.has("drawn") ? { drawn: of("drawn") } : {}),
      verdict: (_, label, verdict) => [...WORDS].find(([, meaning]) => meaning === verdict)[0],
      source: of("source"),
      ...(this.reviewer || this.has("reviewer") ? { reviewer: by } : {}),
    };
    const rows = [];
    const suggested = new Map(data.items.map(({ n, s }) => [n, s.map(([i]) => String(data.numbers[i]))]));
    for (const n of this.byInstance.keys()) { // in the order of the page; then those that are not on it
      const decided = this.of(n);
      const labels = new Set([...(suggested.get(n) ?? []), ...decided.keys()]);
      for (const label of labels) rows.push([n, label, decided.get(label)]);
    }
    // Where other suggestions are decided too, nobody knows which of their list are not.
    const isListed = ([n, label]) => label === STAR || this.shown.has(`${n} ${label}`);
    const suggestions = rows.filter((row) => columns.source(...row) === "suggestion");
    const size = suggestions.filter(([n, label]) => this.shown.get(`${n} ${label}`)?.listed).length;
    const lines = [
      `# review of ${data.file.replace(/\s+/g, " ")}`,
      `# checksum ${data.checksum}`,
      ...(suggestions.every(isListed) ? [`# suggestions ${size}`] : []),
      Object.keys(columns).join("\t"),
      ...rows.map((row) => Object.values(columns).map((value) => value(...row)).join("\t")),
    ];
    return lines.join("\n") + "\n";
  }

  // Take the decisions of a review file; all of them or, where something is wrong with it, none: that throws an Error.
  // Returns how many there were, how many of these are on instances that are not on this page, and whether they were
  // taken: agree(n) is asked first where n of them are other ones than here.
  take(text, agree) {
    const rows = parse(text, this.data);
    const here = rows.filter(({ instance }) => this.byInstance.has(instance));
    const isOther = ({ instance, label, verdict }) => this.of(instance).has(label) && this.of(instance).get(label) !== verdict;
    const others = here.filter(isOther).length;
    const taken = !others || agree(others);
    if (taken) {
      for (const row of here) this.read.set(`${row.instance} ${row.label}`, row);
      this.decideAll(here);
    }
    return { count: rows.length, elsewhere: rows.length - here.length, taken };
  }
}

// A list that was kept as text, empty where it is not ours.
function listOf(text) {
  try {
    return [...JSON.parse(text ?? "[]")];
  } catch {
    return [];
  }
}

// The number that digits stand for, at most `most`; undefined for all else.
function whole(text, most) {
  return typeof text === "string" && /^\d+$/.test(text) && Number(text) <= most ? Number(text) : undefined;
}

// Like LabelNames of names/label_names.py: a function that returns the labels with exactly this name, or with this name
// and number; a main name goes before further ones, such as URIs.
function labelsByName({ named, numbers, names, further, uris }) {
  const [main, others] = [new Map(), new Map()];
  const add = (found, name, label) => found.set(name.normalize(), new Set(found.get(name.normalize())).add(label));
  numbers.forEach((number, i) => {
    if (!named) return;
    add(main, names[i], String(number));
    for (const name of [...(further[i] ?? []), ...(uris[i] ? [uris[i]] : [])]) add(others, name, String(number));
  });
  return (text) => {
    const name = text.normalize();
    const [, before, number] = /^(.*) \(([0-9]{1,10})\)$/s.exec(name) ?? [];
    const isBoth = main.get(before)?.has(String(Number(number)));
    return [...(main.get(name) ?? others.get(name) ?? (isBoth ? [String(Number(number))] : []))];
  };
}

// As names/lines.py writes it: no formula, one line, no tab.
function cell(text) {
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, " ");
  if (/^'*[=+\-@＋－＝＠]/.test(line)) return `'${line}`;
  return line.startsWith('"') ? `"${line.replace(/"/g, '""')}"` : line;
}

// What a cell may stand for: spreadsheets quote, and an apostrophe keeps them from taking a name for a formula.
function meanings(text) {
  const quoted = /^"((?:[^"]|"")*)"$/.exec(text);
  const forms = quoted ? [quoted[1].replace(/""/g, '"'), text] : [text];
  return forms.flatMap((form) => (/^'+[=+\-@＋－＝＠]/.test(form) ? [form.slice(1), form] : [form]));
}

function labelOf(text, labels, { most, numbers, names, written }, fail) {
  if (text === STAR) return text;
  const number = whole(text, most.label);
  if (number !== undefined) {
    const own = String(number);
    if ([text, own].flatMap(labels).every((label) => label === own)) return own;
    const i = numbers.indexOf(number);
    if (names[i] === own && written[i] === undefined) return own; // it has no name
    if (i >= 0) {
      fail(`“${text}” is the number of a label and a name of another; write the name, and the number in brackets`);
    }
    fail(`“${text}” is the name of a label, and no label has this number; write the number of the label`);
  }
  const found = meanings(text).map(labels).find(({ length }) => length) ?? fail(`“${text}” is not a label`);
  return found.length === 1 ? found[0] : fail(`“${text}” is the name of several labels; write the number of one`);
}

// The function that splits the rows of a table: at tabs, commas or semicolons, by the line that names its columns. Where
// that has no tabs, or begins with a quotation mark, values may be in quotation marks.
function splitter(header) {
  const trimmed = (values) => values.map((value) => value.trim());
  const plain = (line) => trimmed(line.split("\t"));
  const quoting = (delimiter) => (line) => {
    const each = new RegExp(`${delimiter}(?:"((?:[^"]|"")*)"|([^${delimiter}]*))`, "g");
    const found = [...`${delimiter}${line}`.matchAll(each)];
    return trimmed(found.map(([, quoted, other]) => quoted?.replace(/""/g, '"') ?? other));
  };
  const ways = [header.startsWith('"') ? quoting("\t") : plain, quoting(","), quoting(";")];
  const fit = (way) => way(header).filter((name) => ["instance", "label", "verdict"].includes(name.toLowerCase())).length;
  return ways.reduce((best, way) => (fit(way) > fit(best) ? way : best));
}

function parse(text, data) {
  const labels = labelsByName(data);
  const rows = [];
  const seen = new Map();
  let [columns, numbered, kept, valuesOf] = [null, -1, [], null];
  const ids = new Map(data.items.filter(({ i }) => i !== undefined).map(({ n, i }) => [i, n]));
  text.replace(/^\ufeff/, "").split(/\r?\n/).forEach((line, i) => {
    const fail = (problem) => { throw new Error(`line ${i + 1}: ${problem}`); };
    if (/^"?#/.test(line) && !(columns && valuesOf(line).slice(1).some(Boolean))) { // an id may begin with # too
      const found = /^"?#\s*checksum\s+([0-9a-f]{64})/i.exec(line);
      if (found && found[1].toLowerCase() !== data.checksum) fail("this is a review of other data; its checksum differs");
      return;
    }
    if (!/[^\s,;"]/.test(line)) return;
    valuesOf ??= splitter(line);
    const fields = valuesOf(line);
    if (!columns) {
      const names = fields.map((name) => name.toLowerCase());
      const label = !data.named && names.includes("number") ? "number" : "label";
      columns = ["id", "instance", label, "verdict"].map((name) => names.indexOf(name));
      numbered = names.indexOf("number");
      kept = KEPT.map((name) => [name, names.indexOf(name)]).filter(([, column]) => column >= 0);
      if (columns[1] < 0 && ids.size) columns[1] = columns[0];
      if (columns.slice(1).includes(-1)) {
        fail("the columns instance, label and verdict should be named here, separated by tabs");
      }
      return;
    }
    const [id, given, written, word] = columns.map((column) => fields[column] ?? "");
    const own = meanings(id).find((form) => ids.has(form));
    const isById = columns[1] === columns[0] || (!given && own !== undefined);
    if (isById && own === undefined) return; // of a record that is not on this page
    const instance = isById ? String(ids.get(own)) : given;
    const number = whole(instance, data.most.instance);
    if (own !== undefined && ids.get(own) !== number) fail(`instance ${instance} has not the id “${own}”`);
    if (!number) fail(`“${instance}” is not an instance number`);
    const label = labelOf(written, labels, data, fail);
    const beside = whole(fields[numbered], data.most.label);
    if (beside !== undefined && String(beside) !== label) {
      fail(`label “${written}” does not have the number ${beside}; correct one of them`);
    }
    if (!WORDS.has(word.toLowerCase())) fail(`verdict “${word}” is not yes, no or empty`);
    const verdict = WORDS.get(word.toLowerCase());
    if (label === STAR && verdict) fail("the only verdict of * is no");
    if (verdict === undefined) return;
    const cell = `${number} ${label}`;
    if (seen.has(cell) && seen.get(cell) !== verdict) fail(`contradicts an earlier line about label ${label}`);
    seen.set(cell, verdict);
    const row = { instance: number, label, verdict, id: meanings(id)[0] };
    for (const [name, column] of kept) row[name] = meanings(fields[column] ?? "")[0];
    if (!SOURCES.has((row.source ?? "").toLowerCase())) {
      fail(`source “${row.source}” is not one of ${[...SOURCES].filter(Boolean).join(", ")} and empty`);
    }
    for (const share of [row.probability, row.drawn].filter(Boolean)) {
      const number = Number(share.replace(",", "."));
      if (!(number >= 0 && number <= 1)) fail(`“${share}” is not a number from 0 to 1`);
    }
    rows.push(row);
  });
  if (!columns) throw new Error("the file is empty");
  return rows;
}
