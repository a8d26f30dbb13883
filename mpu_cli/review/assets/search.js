"use strict";
// A text field that finds labels by parts of their words (the combobox pattern of WAI-ARIA).

const MOST_MATCHES = 50;

class LabelSearch {
  // input, list: elements; labels: index of the labels; describe(i): what else to say of label i; choose(i), leave()
  constructor(input, list, labels, describe, choose, leave) {
    Object.assign(this, { input, list, labels, describe, choose, leave });
    this.found = [];
    this.selected = -1;
    input.addEventListener("input", () => this.update());
    input.addEventListener("focus", () => this.update());
    input.addEventListener("blur", () => this.hide());
    input.addEventListener("keydown", (event) => this.onKey(event));
    list.addEventListener("mousedown", (event) => {
      event.preventDefault(); // the focus stays in the field
      const option = event.target.closest("[role=option]");
      if (option) this.take(Number(option.dataset.place));
    });
  }

  update() {
    const words = plain(this.input.value).split(/\s+/).filter(Boolean);
    this.found = words.length ? this.labels.find(words, MOST_MATCHES) : [];
    this.selected = this.found.length ? 0 : -1;
    this.list.replaceChildren(...this.found.map((label, place) => this.option(label, place)));
    if (words.length && !this.found.length) {
      this.list.append(element("li", { className: "none", textContent: "No label has this name, number or URI" }));
    }
    this.list.hidden = !words.length;
    this.mark();
  }

  option(label, place) {
    const option = element("li", { role: "option", id: `match-${place}` }, [
      element("span", { className: "name", dir: "auto" }, [this.labels.name(label), ...this.labels.uriNote(label)]),
      element("span", { className: "detail", textContent: this.describe(label) }),
    ]);
    option.dataset.place = place;
    return option;
  }

  mark() {
    this.list.querySelectorAll("[role=option]").forEach((option, place) => {
      option.ariaSelected = String(place === this.selected);
      if (place === this.selected) option.scrollIntoView({ block: "nearest" });
    });
    this.input.ariaExpanded = String(!this.list.hidden);
    if (this.selected < 0) this.input.removeAttribute("aria-activedescendant");
    else this.input.setAttribute("aria-activedescendant", `match-${this.selected}`);
  }

  hide() {
    this.list.hidden = true;
    this.found = [];
    this.selected = -1;
    this.mark();
  }

  take(place) {
    const label = this.found[place];
    this.input.value = "";
    this.hide();
    this.choose(label);
    this.leave(); // so that the next key decides
  }

  onKey(event) {
    const step = { __proto__: null, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.found.length) {
      this.selected = (this.selected + step + this.found.length) % this.found.length;
      this.mark();
    } else if (event.key === "Enter" && this.selected >= 0) {
      this.take(this.selected);
    } else if (event.key === "Escape") {
      this.input.value = "";
      this.hide();
      this.leave();
    } else {
      return;
    }
    event.preventDefault();
  }
}

// All labels by their position in the lists of the data.
class LabelIndex {
  constructor({ numbers, names, further, counts, named, uris }) {
    Object.assign(this, { numbers, names, counts, named, uris });
    this.texts = numbers.map((number, i) => plain(named ? [names[i], ...(further[i] ?? [])].join("\n") : String(number)));
    this.place = new Map(numbers.map((number, i) => [String(number), i]));
    this.times = new Map(); // how many labels have a name
    for (const name of names) this.times.set(name, (this.times.get(name) ?? 0) + 1);
    this.identified = new Map(); // number, URI or last part of a URI, as typed -> labels
    const identify = (text, i) => this.identified.set(text, [...(this.identified.get(text) ?? []), i]);
    if (named) numbers.forEach((number, i) => identify(String(number), i));
    uris.forEach((uri, i) => {
      if (uri) [uri.split(/[/#]/).at(-1), uri].forEach((text) => identify(plain(text), i));
    });
  }

  // With its number where other labels have the same name, as in review files.
  name(i) {
    if (!this.named) return `Label ${this.numbers[i]}`;
    return this.isAlone(i) ? this.names[i] : `${this.names[i]} (${this.numbers[i]})`;
  }

  isAlone(i) {
    return !(this.times.get(this.names[i]) > 1);
  }

  // The URI, where the name alone does not say which label is meant.
  uriNote(i) {
    const uri = this.named && !this.isAlone(i) && this.uris[i];
    return uri ? [element("span", { className: "note-of", textContent: uri })] : [];
  }

  // A decision may be on a label that the data do not have.
  nameOf(number) {
    const i = this.place.get(number);
    return i === undefined ? `Label ${number}` : this.name(i);
  }

  // Labels with this number or URI; then those that have all words in their names, the best match first. Where no label
  // has them, those that have them but for one typo in each.
  find(words, most) {
    const patterns = words.map(forms);
    const having = (has) => this.numbers.map((_, i) => i).filter((i) => words.every((_, j) => has(this.texts[i], j)));
    let found = having((text, j) => text.includes(words[j]));
    const identified = this.identified.get(words.join(" ")) ?? [];
    if (!found.length && !identified.length) found = having((text, j) => patterns[j].at(-1).test(text));
    found = found.filter((i) => !identified.includes(i));
    const ranks = new Map(found.map((i) => [i, this.rank(i, words.join(" "), patterns)]));
    found.sort((a, b) => ranks.get(a) - ranks.get(b) || this.counts[b] - this.counts[a] || a - b);
    return [...identified, ...found].slice(0, most);
  }

  // By the best of its names: how well it matches; then come names that are all that was typed, names that begin with a
  // word of it, and main names.
  rank(i, typed, patterns) {
    const of = (name, place) => {
      let [worth, begins] = [0, false];
      for (const forms of patterns) {
        const match = forms.findIndex((form) => form.test(name));
        worth += match < 0 ? forms.length : match;
        begins ||= match >= 0 && name.search(forms[match]) === 0;
      }
      return 8 * worth + 4 * (name !== typed) + 2 * !begins + (place > 0);
    };
    return Math.min(...this.texts[i].split("\n").map(of));
  }
}

// Patterns of a word, the best first: the word itself, the beginning of a word, a part of one, and these with a typo: a
// letter that is added, missing or another one, or two neighbours that are exchanged. Words of up to three letters have
// no typo.
function forms(word) {
  const quoted = (letters) => letters.join("").replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const letters = [...word];
  const whole = quoted(letters);
  const typos = letters.length > 3 ? letters.flatMap((letter, i) => {
    const [before, after] = [quoted(letters.slice(0, i)), quoted(letters.slice(i + 1))];
    const swapped = i + 1 < letters.length ? [before + quoted([letters[i + 1], letter]) + quoted(letters.slice(i + 2))] : [];
    return [`${before}[^\n]?${after}`, `${before}[^\n]${quoted([letter])}${after}`, ...swapped];
  }) : [];
  const near = `(?:${[whole, ...typos].join("|")})`;
  const [start, end] = ["(?<![^\\s!-/:-@])", "(?![^\\s!-/:-@])"]; // blanks and punctuation
  return [start + whole + end, start + whole, whole, start + near + end, start + near, near].map((form) => new RegExp(form, "u"));
}

// Without capitals and accents; by way of capitals, ß becomes ss.
function plain(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toUpperCase().toLowerCase().replaceAll("ς", "σ");
}

// Make an element; texts go in by textContent alone.
function element(tag, properties = {}, children = []) {
  const made = document.createElement(tag);
  Object.assign(made, properties);
  made.append(...children);
  return made;
}
