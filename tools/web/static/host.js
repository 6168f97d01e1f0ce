// Brings stored explorers, quizzes, tables and the practice to life without a kernel. Of ipywidgets' models it knows those
// that the lessons store; a widget with any other in it keeps its still picture or its text.

const REFERENCE = "IPY_MODEL_";

// ---------------------------------------------------------------------------------------------------
// Models: what a widget holds, as ipywidgets and anywidget hand it to a widget's code.

function bytes(base64) {
  return new DataView(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)).buffer);
}

function makeModel({ model_name, state, buffers = [] }, manager) {
  for (const { path, data } of buffers) {
    const place = path.slice(0, -1).reduce((inner, step) => inner[step], state);
    place[path.at(-1)] = bytes(data);
  }
  const heard = new EventTarget();
  const listeners = new Map();
  return {
    kind: model_name,
    widget_manager: manager,
    get: (key) => state[key],
    set(key, value) {
      if (state[key] === value) return;
      state[key] = value;
      heard.dispatchEvent(new Event(`change:${key}`));
    },
    on(name, listener) {
      const call = () => listener();
      listeners.set(listener, [...(listeners.get(listener) ?? []), [name, call]]);
      heard.addEventListener(name, call);
    },
    off(name, listener) {
      for (const [known, call] of listeners.get(listener) ?? []) {
        if (known === name) heard.removeEventListener(name, call);
      }
    },
    save_changes() {},
    send() {},
  };
}

function readModels(stored) {
  const models = {};
  const manager = {
    get_model: async (id) => models[id] ?? Promise.reject(new Error(`no model ${id}`)),
  };
  for (const [id, model] of Object.entries(stored)) models[id] = makeModel(model, manager);
  const find = (reference) => models[reference.slice(REFERENCE.length)];
  for (const model of Object.values(models)) {
    if (model.kind !== "DirectionalLinkModel") continue;
    const [[source, from], [target, to]] = [model.get("source"), model.get("target")];
    const pass = () => find(target).set(to, find(source).get(from));
    find(source).on(`change:${from}`, pass);
    pass();
  }
  return { models, find };
}

// ---------------------------------------------------------------------------------------------------
// Views: native controls, and what a widget's own code draws.

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

let controls = 0;

function control(model, element, ...more) {
  element.id = `control-${++controls}`;
  const label = make("label", { htmlFor: element.id, textContent: model.get("description") });
  return make("div", { className: "control" }, label, element, ...more);
}

// The code of a widget runs once a page, however many widgets have it.
const modules = new Map();

function load(source) {
  if (!modules.has(source)) {
    modules.set(source, import(URL.createObjectURL(new Blob([source], { type: "text/javascript" }))));
  }
  return modules.get(source);
}

async function box(model, find) {
  const element = make("div", { className: ["box", ...(model.get("_dom_classes") ?? [])].join(" ") });
  for (const child of model.get("children")) element.append(await view(find(child), find));
  return element;
}

const draw = {
  VBoxModel: box,
  HBoxModel: box,

  DropdownModel(model) {
    const options = model.get("_options_labels").map((text) => make("option", { textContent: text }));
    const menu = make("select", {}, ...options);
    menu.selectedIndex = model.get("index");
    menu.addEventListener("change", () => model.set("index", menu.selectedIndex));
    return control(model, menu);
  },

  SelectionSliderModel(model) {
    const labels = model.get("_options_labels");
    const range = make("input", { type: "range", min: 0, max: labels.length - 1, step: 1 });
    range.value = model.get("index");
    const readout = make("span", { className: "readout", ariaHidden: "true" });
    const tell = () => {
      readout.textContent = labels[range.value];
      range.setAttribute("aria-valuetext", labels[range.value]);
    };
    range.addEventListener("input", () => {
      tell();
      model.set("index", Number(range.value));
    });
    tell();
    return control(model, range, readout);
  },

  CheckboxModel(model) {
    const check = make("input", { type: "checkbox", checked: model.get("value") });
    check.addEventListener("change", () => model.set("value", check.checked));
    return control(model, check);
  },

  async AnyModel(model) {
    const module = await load(model.get("_esm"));
    const widget = typeof module.default === "function" ? await module.default() : module.default;
    if (model.get("_css")) document.head.append(make("style", { textContent: model.get("_css") }));
    const el = make("div");
    await widget.initialize?.({ model });
    await widget.render({ model, el });
    return el;
  },
};

async function view(model, find) {
  if (!(model?.kind in draw)) throw new Error(`cannot show ${model?.kind}`);
  return draw[model.kind](model, find);
}

// ---------------------------------------------------------------------------------------------------
// What answers a prediction opens when a guess is committed, and stays open when the page comes again.

function storedChoice(place) {
  try {
    return localStorage.getItem(place);
  } catch {
    return null;
  }
}

function guessed(text, question) {
  try {
    return JSON.parse(text).mark === question.mark;
  } catch {
    return false;
  }
}

function uncover(models) {
  let covers = [];
  for (const part of document.querySelectorAll(".live, details.answer")) {
    const model = models[part.dataset.model];
    if (part.matches("details.answer")) covers.push(part);
    if (model?.get("kind") !== "prediction") continue;
    const [question] = model.get("questions");
    const mine = (covers = []); // what comes from here to the next prediction
    const place = `normalization-notebooks/${model.get("lesson")}/${question.key}`;
    const take = (text) => guessed(text, question) && mine.forEach((cover) => (cover.open = true));
    window.addEventListener("storage", ({ key, newValue }) => key === place && take(newValue));
    queueMicrotask(() => take(storedChoice(place)));
  }
}

// For those who came to look something up.
function offerToUncoverAll() {
  const covers = [...document.querySelectorAll("details.answer")];
  if (!covers.length) return;
  const button = make("button", { type: "button", className: "uncover", textContent: "Open all answers" });
  button.addEventListener("click", () => {
    const open = covers.some((cover) => !cover.open);
    covers.forEach((cover) => (cover.open = open));
    button.textContent = open ? "Cover all answers" : "Open all answers";
  });
  document.querySelector(".run-it")?.append(button);
}

// ---------------------------------------------------------------------------------------------------

// What scrolls must be reachable for the arrow keys.
function reachScrolling() {
  for (const block of document.querySelectorAll("article pre, article table, .formula")) {
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
    else block.removeAttribute("tabindex");
  }
}

// Paper is white, whatever the theme. Pictures that wait to be scrolled to are fetched for it.
function printOnWhite() {
  const { dataset } = document.documentElement;
  let theme = null;
  window.addEventListener("beforeprint", () => {
    theme = dataset.theme;
    dataset.theme = "light";
    for (const image of document.querySelectorAll("img[loading=lazy]")) image.loading = "eager";
  });
  window.addEventListener("afterprint", () => (dataset.theme = theme));
}

async function start() {
  const holder = document.getElementById("widget-state");
  const { models, find } = readModels(holder ? JSON.parse(holder.textContent) : {});
  uncover(models);
  offerToUncoverAll();
  for (const place of document.querySelectorAll(".live")) {
    try {
      place.replaceChildren(await view(models[place.dataset.model], find));
      place.dataset.alive = "yes";
    } catch (error) {
      console.info("A widget stays as it was stored:", error.message);
    }
  }
  printOnWhite();
  reachScrolling();
  window.addEventListener("resize", reachScrolling);
  document.addEventListener("toggle", reachScrolling, { capture: true });
  performance.mark("alive");
  document.documentElement.dataset.widgets = "ready";
}

start();
