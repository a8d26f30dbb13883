"use strict";
// The page: one instance at a time, its labels as rows, one of which is marked and takes the keys.

const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const labels = new LabelIndex(data);
const reviews = new Reviews(data, browserStorage());
const firstOpen = Math.max(data.items.findIndex((one) => !isReviewed(one)), 0);
let at = Math.min(reviews.get("at") === null ? firstOpen : reviews.number("at"), data.items.length - 1);
let marked = null; // label of the marked row, as text
const item = () => data.items[at];
const panel = document.querySelector(".decisions");

function browserStorage() {
  try {
    localStorage.getItem("mpu-review/reviewer"); // fails where this is forbidden; one that is full can be read
    return localStorage;
  } catch {
    return null;
  }
}

// What there is to decide

function rowsOf(one) {
  const number = (i) => String(data.numbers[i]);
  const suggested = one.s.map(([i, probability, drawn]) => ({ label: number(i), probability: drawn ? null : probability }));
  const annotated = one.a.map((i) => ({ label: number(i) }));
  const shown = new Set([...suggested, ...annotated].map(({ label }) => label));
  const others = [...reviews.of(one.n).keys()].filter((label) => label !== STAR && !shown.has(label));
  return { suggested, annotated, added: others.map((label) => ({ label })) };
}

// A random sample tells of what is missing only where somebody has looked for everything.
function isReviewed(one) {
  if (reviews.isClosed(one.n)) return true;
  const decisions = reviews.of(one.n);
  return data.source !== "sample" && one.s.length > 0 && one.s.every(([i]) => decisions.has(String(data.numbers[i])));
}

function state(label, kind) {
  const verdict = reviews.of(item().n).get(label);
  if (verdict !== undefined) return verdict ? "yes" : "no";
  if (kind === "annotated") return "annotated";
  return reviews.isClosed(item().n) ? "no because nothing else is true" : "undecided";
}

// Showing

function render() {
  const rows = rowsOf(item());
  const order = Object.values(rows).flat().map(({ label }) => label);
  if (!order.includes(marked)) {
    const suggested = rows.suggested.map(({ label }) => label);
    marked = suggested.find((label) => !reviews.of(item().n).has(label)) ?? suggested[0] ?? null;
  }
  const entry = marked ?? order[0]; // where the Tab key comes to the rows
  const hadFocus = Boolean(document.activeElement?.closest(".row"));
  for (const [kind, list] of Object.entries(rows)) {
    $(kind).replaceChildren(...list.map((row) => rowElement(row, kind, row.label === entry)));
    if (!list.length && kind !== "added") $(kind).append(element("li", { className: "empty", textContent: EMPTY[kind] }));
  }
  if (rows.annotated.some(({ label }) => reviews.of(item().n).get(label) === false)) {
    $("annotated").append(element("li", { className: "hint note", textContent: REFUTED }));
  }
  if (hadFocus) focusRow();
  $("close").ariaPressed = String(reviews.isClosed(item().n));
  renderText();
  panel.classList.toggle("tall", panel.offsetHeight > window.innerHeight - $("next").parentElement.offsetHeight);
  renderProgress();
}

const EMPTY = { suggested: "None for this instance", annotated: "None" };
const REFUTED = "It is annotated: your answer overrides the annotation.";

function rowElement({ label, probability }, kind, isEntry) {
  const verdict = reviews.of(item().n).get(label);
  const name = element("span", { textContent: labels.nameOf(label) });
  const percent = probability == null ? "" : inPercent(probability);
  const row = element("div", { className: "row", tabIndex: isEntry ? 0 : -1, role: "group" }, [
    element("span", { className: "name", dir: "auto" }, [name, ...broaderOf(label), ...uriOf(label), ...byOf(label)]),
    element("span", { className: "detail", textContent: percent }),
    verdictButton(label, "Yes", verdict === true, isEntry),
    verdictButton(label, "No", verdict === false, isEntry),
  ]);
  row.dataset.label = label;
  row.classList.toggle("marked", label === marked);
  row.classList.toggle("is-no", verdict === false);
  row.classList.toggle("no-more", verdict === undefined && kind !== "annotated" && reviews.isClosed(item().n));
  const probably = percent && `, probability ${percent}`;
  row.ariaLabel = `${name.textContent}${kind === "suggested" ? `, suggested${probably}` : ""}, ${state(label, kind)}`;
  return element("li", {}, [row]);
}

// The next broader labels, which tell headings of the same name apart.
function broaderOf(label) {
  const names = (data.broader[labels.place.get(label)] ?? []).map((i) => labels.name(i));
  return names.length ? [element("span", { className: "note-of broader", textContent: `in ${names.join(", ")}` })] : [];
}

// Who has decided, where it was not done on this page.
function byOf(label) {
  const reviewer = reviews.by(item().n, label);
  return reviewer ? [element("span", { className: "note-of", textContent: `decided by ${reviewer}` })] : [];
}

function uriOf(label) {
  return labels.place.has(label) ? labels.uriNote(labels.place.get(label)) : [];
}

// Not 0 or 100, which would be certain.
function inPercent(probability) {
  if (probability > 0.99) return "over 99 %";
  return probability < 0.01 ? "under 1 %" : `${Math.round(probability * 100)} %`;
}

function verdictButton(label, word, isPressed, isEntry) {
  const button = element("button", { type: "button", textContent: word, className: word.toLowerCase() });
  button.ariaPressed = String(isPressed);
  button.ariaLabel = `${word}: ${labels.nameOf(label)}`;
  button.tabIndex = isEntry ? 0 : -1;
  return button;
}

function renderInstance() {
  const one = item();
  const others = headings(one).slice(1);
  $("record").hidden = !others.length && data.link === null;
  $("record").replaceChildren(others.join(" · "), ...(data.link === null ? [] : [" ", linkTo(one.i)]));
  $("text").hidden = one.t === undefined;
  $("features").hidden = one.f === undefined;
  $("features").tBodies[0].replaceChildren(
    ...(one.f ?? []).map(([name, value]) =>
      element("tr", {}, [
        element("td", { dir: "auto", textContent: name }),
        element("td", { textContent: String(value) }),
      ])
    )
  );
  $("position").value = at + 1;
  $("previous").disabled = at === 0;
  $("next").disabled = at === data.items.length - 1;
  marked = null;
  render();
}

function headings(one) {
  return [one.h, one.i || `Instance ${one.n.toLocaleString("en")}`].filter((text) => text !== undefined);
}

// Title and text; what speaks most for the marked label is highlighted.
function renderText() {
  const one = item();
  const features = (one.w?.[labels.place.get(marked)] ?? []).map((feature) => plain(feature).split(" ").filter(Boolean));
  $("title").replaceChildren(withMarks(headings(one)[0], one.h === undefined ? [] : features));
  $("text").replaceChildren(withMarks(one.t ?? "", features));
}

// Words of a text are highlighted that begin with those of a feature, which may be stems: happi is one of happy. A
// feature of several words is highlighted where they stand side by side.
function withMarks(text, features) {
  const begins = features.map((words) => words.map((word) => (word.length > 3 ? word.replace(/i$/, "") : word)));
  const parts = text.split(/([\p{L}\p{N}]+)/u);
  const words = parts.map(plain);
  const marked = new Set();
  for (let i = 1; i < parts.length; i += 2) {
    for (const feature of begins) {
      if (!feature.every((begin, j) => words[i + 2 * j]?.startsWith(begin))) continue;
      feature.forEach((_, j) => marked.add(i + 2 * j));
    }
  }
  const shown = new DocumentFragment();
  parts.forEach((part, i) => shown.append(marked.has(i) ? element("mark", {}, [part]) : part));
  return shown;
}

function linkTo(id) {
  const href = data.link.replaceAll("{id}", () => encodeURIComponent(id));
  return element("a", { href, target: "_blank", rel: "noopener noreferrer", textContent: "Open the record" });
}

function renderProgress() {
  const done = data.items.reduce((sum, one) => sum + isReviewed(one), 0);
  $("bar").value = done;
  $("count").textContent = `${done.toLocaleString("en")} of ${data.items.length.toLocaleString("en")} reviewed`;
  $("next-open").disabled = done === data.items.length;
  const { unexported } = reviews;
  $("unexported").textContent = unexported ? ` (${unexported} new)` : "";
  if (!reviews.storage) notify("This browser cannot store decisions: export before you close this page.");
}

// Acting

function decide(label, verdict, moveOn = true) {
  reviews.decide(item().n, label, verdict);
  const decisions = reviews.of(item().n);
  const order = Object.values(rowsOf(item())).flat().map((row) => row.label);
  marked = label;
  if (moveOn && verdict !== undefined) {
    const suggested = item().s.map(([i]) => String(data.numbers[i]));
    const open = suggested.filter((other) => !decisions.has(other));
    marked = open.find((other) => order.indexOf(other) > order.indexOf(label)) ?? open[0] ?? label;
  }
  render();
  say(`${labels.nameOf(label)}: ${verdict === undefined ? "undecided" : verdict ? "yes" : "no"}`);
}

function undo() {
  const cell = reviews.undo();
  if (!cell) return say("There is nothing to undo.");
  const place = data.items.findIndex(({ n }) => n === cell.instance);
  if (place !== at) go(place);
  marked = cell.label === STAR ? marked : cell.label;
  render();
  focusRow();
  return say(`Undone: ${cell.label === STAR ? "nothing else is true" : labels.nameOf(cell.label)}`);
}

function decideMarked(verdict) {
  if (marked === null) return;
  const wasReviewed = isReviewed(item());
  decide(marked, verdict);
  if ($("advance").checked && !wasReviewed && isReviewed(item())) return goToOpen();
  return focusRow();
}

function mark(step) {
  const order = Object.values(rowsOf(item())).flat().map((row) => row.label);
  if (!order.length) return;
  const place = Math.min(Math.max(order.indexOf(marked) + step, 0), order.length - 1);
  marked = order[place];
  render();
  focusRow();
}

function focusRow() {
  const row = document.querySelector(".row.marked");
  row?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: "nearest" });
}

function go(place) {
  at = Math.min(Math.max(place, 0), data.items.length - 1);
  reviews.put("at", String(at));
  renderInstance();
  window.scrollTo(0, 0);
  $("text").scrollTo(0, 0);
  $("title").focus({ preventScroll: true });
}

function goToOpen() {
  const count = data.items.length;
  for (let step = 1; step <= count; step += 1) {
    if (!isReviewed(data.items[(at + step) % count])) return go((at + step) % count);
  }
  return say("All instances are reviewed.");
}

function toggleClosed() {
  const closing = !reviews.isClosed(item().n);
  reviews.decide(item().n, STAR, closing ? false : undefined);
  if (closing && at < data.items.length - 1) {
    go(at + 1);
  } else {
    render();
    say(closing ? "Nothing else is true. This was the last instance: export what you decided." : "Open again");
  }
}

function exportDecisions() {
  if (reviews.reviewer === null) {
    $("who").showModal();
    return;
  }
  const by = reviews.reviewer.replace(/[\p{C}\\/:*?"<>|]+/gu, "-").replace(/^[-. ]+|[-. ]+$/g, "");
  const link = element("a", {
    href: URL.createObjectURL(new Blob([reviews.toText()], { type: "text/tab-separated-values" })),
    download: by ? `checked-${by}.tsv` : "checked.tsv",
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  reviews.setExported();
  renderProgress();
  say(`${reviews.size} decisions exported to ${link.download}`);
}

async function importDecisions(file) {
  try {
    const { count, elsewhere, taken } = reviews.take(await file.text(), (others) =>
      confirm(`${file.name} changes ${others} of your decisions. Take those of the file?`)
    );
    if (!taken) return notify(`${file.name} was not imported.`);
    const rest = elsewhere ? ` ${elsewhere} are on instances that are not on this page, and were left out.` : "";
    notify(`${file.name}: ${count} decisions.${rest}`);
  } catch (error) {
    notify(`${file.name} was not imported: ${error.message}.`);
  }
  render();
}

function offerLeft() {
  const left = reviews.leftElsewhere();
  if (!left.length) return;
  const agreed = left.filter(({ verdict }) => verdict !== undefined);
  const here = agreed.filter(({ instance }) => data.items.some(({ n }) => n === instance));
  const others = here.filter(({ instance, label }) => reviews.of(instance).has(label)).length;
  const [rest, contradictory] = [agreed.length - here.length, left.length - agreed.length];
  const all = "mpu review without --suggestions and --sample makes a page of all instances, which can take them.";
  const sentences = [
    agreed.length && `${agreed.length} decisions on these data, made on another page in this browser, were not exported.`,
    rest && `${rest} of them are on instances that are not on this page: ${all}`,
    contradictory && `Other pages contradict each other about ${contradictory} rows, which stay undecided.`,
  ];
  notify(`${sentences.filter(Boolean).join(" ")} `);
  if (!here.length) return;
  const button = element("button", { type: "button", textContent: rest ? "Take the others" : "Take them" });
  button.addEventListener("click", () => {
    if (others && !confirm(`This changes ${others} of the decisions here. Take those of the other page?`)) return;
    reviews.takeLeft(here);
    $("notice").hidden = true;
    render();
    say(`${here.length} decisions taken`);
    offerLeft();
  });
  $("notice").append(button);
}

function say(text) {
  $("said").textContent = text;
}

function notify(text) {
  $("notice").textContent = text;
  $("notice").hidden = false;
}

function setShortcuts(on) {
  $("shortcuts").checked = on;
  reviews.put("shortcuts", on ? null : "off");
}

// Keys and buttons

const KEYS = {
  __proto__: null, // no keys but these
  y: () => decideMarked(true),
  n: () => decideMarked(false),
  u: () => decideMarked(undefined),
  e: toggleClosed,
  o: goToOpen,
  j: () => mark(1),
  k: () => mark(-1),
  ArrowDown: () => mark(1),
  ArrowUp: () => mark(-1),
  ArrowRight: () => at < data.items.length - 1 && go(at + 1),
  ArrowLeft: () => at > 0 && go(at - 1),
  "/": () => $("search").focus(),
  "?": () => $("keys").showModal(),
};

// A letter key; by its place where the keyboard has no Latin letter there, as in Russian, Greek, Hebrew or Arabic.
function keyOf({ key, code }) {
  const place = /^Key([A-Z])$/.exec(code);
  const isOther = place !== null && /^[^\0-\x7f]+$/.test(key);
  return isOther ? place[1].toLowerCase() : key.length === 1 ? key.toLowerCase() : key;
}

document.addEventListener("keydown", (event) => {
  const key = keyOf(event);
  const isTyping = event.target.closest?.("input:not([type=checkbox]), dialog");
  if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && key === "z" && !isTyping) {
    event.preventDefault();
    return undo();
  }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !$("shortcuts").checked || !KEYS[key]) return;
  event.preventDefault();
  if (event.repeat && "ynue".includes(key)) return; // a key that is held decides once
  return KEYS[key]();
});

panel.addEventListener("click", (event) => {
  const button = event.target.closest(".row button");
  if (!button) return;
  const verdict = button.ariaPressed === "true" ? undefined : button.classList.contains("yes");
  decide(button.closest(".row").dataset.label, verdict, false);
});

// The row that has the focus is the marked one, however it got there.
panel.addEventListener("focusin", (event) => {
  const row = event.target.closest(".row");
  if (!row || row.dataset.label === marked) return;
  marked = row.dataset.label;
  renderText();
  for (const other of panel.querySelectorAll(".row")) {
    other.classList.toggle("marked", other === row);
    for (const control of [other, ...other.querySelectorAll("button")]) control.tabIndex = other === row ? 0 : -1;
  }
});

$("close").addEventListener("click", toggleClosed);
$("previous").addEventListener("click", () => go(at - 1));
$("next").addEventListener("click", () => go(at + 1));
$("next-open").addEventListener("click", goToOpen);
$("position").addEventListener("click", () => $("position").select());
$("position").addEventListener("change", () => go(Math.trunc(Number($("position").value) || at + 1) - 1));
$("export").addEventListener("click", exportDecisions);
$("who").querySelector("form").addEventListener("submit", () => {
  reviews.setReviewer($("reviewer").value);
  exportDecisions();
});
$("who-cancel").addEventListener("click", () => $("who").close());
$("change-reviewer").addEventListener("click", () => {
  $("keys").close();
  $("reviewer").value = reviews.reviewer ?? "";
  $("who").showModal();
});
$("import").addEventListener("click", () => $("import-file").click());
$("import-file").addEventListener("change", async () => {
  for (const file of $("import-file").files) await importDecisions(file);
  $("import-file").value = "";
});
$("help").addEventListener("click", () => $("keys").showModal());
$("shortcuts").addEventListener("change", () => setShortcuts($("shortcuts").checked));
$("advance").addEventListener("change", () => reviews.put("advance", $("advance").checked ? "on" : null));
window.addEventListener("storage", ({ key }) => { // another window with the same page
  const instance = reviews.instanceOf(key);
  if (key === reviews.key("steps")) reviews.reloadSteps();
  if (instance === undefined) return;
  reviews.reload(instance);
  if (instance === item().n) render();
  else renderProgress();
});

new LabelSearch(
  $("search"),
  $("matches"),
  labels,
  (i) => {
    const here = item().a.includes(i) ? "annotated" : reviews.of(item().n).get(String(data.numbers[i])) ? "yes" : "";
    return here || `on ${data.counts[i].toLocaleString("en")} ${data.counts[i] === 1 ? "record" : "records"}`;
  },
  (i) => decide(String(data.numbers[i]), true),
  () => (document.querySelector(".row.marked") ? focusRow() : $("title").focus())
);

document.title = `Review of ${data.file}`;
$("file").textContent = data.file;
$("bar").max = data.items.length;
$("suggestions").hidden = data.items.every((one) => !one.s.length);
$("of").textContent = `of ${data.items.length.toLocaleString("en")}`;
$("position").max = data.items.length;
const QUESTIONS = "Each suggested label is a question drawn by chance. Answer all of them, including hard ones.";
$("about").textContent = reviews.has("drawn") ? QUESTIONS : {
  sample: "These instances were drawn at random. Look for every true label and close each one, so that the share of " +
    "missing labels can be estimated.",
  suggestion: "These instances were picked since they probably miss labels.",
  "": "These are all instances of the file.",
}[data.source];
setShortcuts(reviews.get("shortcuts") !== "off");
$("advance").checked = reviews.get("advance") === "on";
renderInstance();
offerLeft();
