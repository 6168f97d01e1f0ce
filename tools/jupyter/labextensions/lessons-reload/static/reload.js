// An extension of JupyterLab as it is loaded, written by hand: it needs no build.
// JupyterLab may ask the kernel twice for its widgets while it opens a notebook. On a busy machine the second answer can
// overtake the first, and then widgets that the file holds are "not found". Loading the page again helps, so say that.
const DEAD = "Error displaying widget: model not found";
const ADVICE = "This was not loaded in time. Reload the page (F5).";

function advise() {
  for (const output of document.querySelectorAll(".jp-OutputArea-output.jupyter-widgets")) {
    if (output.childElementCount === 0 && output.textContent === DEAD) output.textContent = ADVICE;
  }
}

const activate = () => new MutationObserver(advise).observe(document.body, { childList: true, subtree: true });
const plugin = { id: "lessons-reload:plugin", autoStart: true, activate };

window._JUPYTERLAB = window._JUPYTERLAB || {};
window._JUPYTERLAB["lessons-reload"] = { init() {}, get: async () => () => plugin };
