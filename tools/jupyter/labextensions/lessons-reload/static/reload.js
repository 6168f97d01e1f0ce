// An extension of JupyterLab as it is loaded, written by hand: it needs no build.
const DEAD = "Error displaying widget: model not found";
const ADVICE = "This was not loaded in time. Reload the page (F5).";
const TRIES = 10; // of two seconds each: as long as JupyterLab looks for a widget
let shared; // the packages of JupyterLab itself

// JupyterLab may ask the kernel twice for its widgets while it opens a notebook. On a busy machine the second answer can
// overtake the first; then it calls widgets "not found" before it has read them from the file. So draw them again.
const tried = new WeakMap();

function drawAgain(notebook) {
  for (const { outputArea } of notebook.widgets) {
    outputArea?.widgets.forEach((output, number) => {
      const dead = [...(output.children?.() ?? [])].find(({ node }) => node.textContent === DEAD);
      if (!dead?.renderModel) return;
      tried.set(dead, (tried.get(dead) ?? 0) + 1);
      if (tried.get(dead) > TRIES) dead.node.textContent = ADVICE;
      else dead.renderModel(outputArea.model.get(number));
    });
  }
}

// Opening a notebook adds its widgets and the kernel's name of the language. That is no change of ours to be saved.
function stayClean(model) {
  let opening = false;
  let changed = false;
  model.metadataChanged.connect((_, { key }) => (opening = key === "language_info"));
  model.contentChanged.connect(() => {
    changed ||= !opening;
    opening = false;
  });
  model.stateChanged.connect((_, { name, newValue }) => {
    if (name === "dirty" && newValue && !changed) model.dirty = false;
  });
}

function activate(app, tracker) {
  const watch = async (panel) => {
    const look = () => drawAgain(panel.content);
    new MutationObserver(look).observe(panel.node, { childList: true, subtree: true });
    await panel.context.ready;
    stayClean(panel.context.model);
  };
  tracker.forEach(watch);
  tracker.widgetAdded.connect((_, panel) => watch(panel));
}

async function get() {
  const [notebook] = Object.values(shared["@jupyterlab/notebook"]);
  const { INotebookTracker } = (await notebook.get())();
  return () => ({ id: "lessons-reload:plugin", autoStart: true, requires: [INotebookTracker], activate });
}

window._JUPYTERLAB = window._JUPYTERLAB || {};
window._JUPYTERLAB["lessons-reload"] = { init: (packages) => void (shared = packages), get };
