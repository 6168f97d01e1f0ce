// Starts a deck once its widgets live: makes every slide as large as its frame allows, and leaves the keys of a control
// to that control.

const asked = new URLSearchParams(location.search);
const STEP = 0.05;

// ---------------------------------------------------------------------------------------------------
// Size. Content is laid out as on a page and zoomed as far as it fits, between --largest and --smallest of deck.css.

const bound = (fit, name) => Number(getComputedStyle(fit).getPropertyValue(name));

// Words that come later (other captions, what is said to an answer) have their room from the start.
function keepRoom() {
  for (const place of document.querySelectorAll("[data-longest]")) {
    for (const words of place.querySelectorAll(".explorer-caption, .quiz-feedback")) {
      words.dataset.longest = place.dataset.longest;
    }
  }
}

function isTooLarge(fit) {
  const [content, frame] = [fit.getBoundingClientRect(), fit.parentElement.getBoundingClientRect()];
  if (content.height > frame.height + 0.5) return true;
  return [fit, ...fit.querySelectorAll("pre, table, .katex-display, .explorer")].some(
    (part) => part.scrollWidth > part.clientWidth + 1 && part.clientWidth,
  );
}

const nextFrame = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));

// All slides shrink together, a step in each frame: a picture may take another layout after a step.
async function fitAll(fits) {
  const zoom = new Map(fits.map((fit) => [fit, bound(fit, "--largest")]));
  let open = fits;
  const set = (fit) => fit.style.setProperty("--zoom", zoom.get(fit).toFixed(2));
  open.forEach(set);
  while (open.length) {
    await nextFrame();
    open = open.filter((fit) => zoom.get(fit) > bound(fit, "--smallest") && isTooLarge(fit));
    for (const fit of open) {
      zoom.set(fit, Math.max(bound(fit, "--smallest"), zoom.get(fit) - STEP));
      set(fit);
    }
  }
}

// What grows later all the same (the next question of the practice) shrinks once more.
function watch(fits) {
  const grown = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const zoom = Number(target.style.getPropertyValue("--zoom"));
      const smallest = bound(target, "--smallest");
      if (target.offsetParent && zoom > smallest && isTooLarge(target)) {
        target.style.setProperty("--zoom", Math.max(smallest, zoom - STEP).toFixed(2));
      }
    }
  });
  fits.forEach((fit) => grown.observe(fit));
}

// ---------------------------------------------------------------------------------------------------
// Keys

const inControl = (event) => event.target.closest?.(".live");
const onButton = (event) => event.target.closest?.("a, button") && [" ", "Enter"].includes(event.key);

function shareKeys(event) {
  if (!inControl(event)) return;
  if (event.key === "Escape") event.target.blur();
  else if (event.key === "PageDown" || event.key === "PageUp") {
    event.target.blur();
    event.key === "PageDown" ? Reveal.next() : Reveal.prev();
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

// ---------------------------------------------------------------------------------------------------

function changeTheme() {
  const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("mode", theme);
  } catch {
    // refused: the choice lasts for this page
  }
}

function widgetsReady() {
  const root = document.documentElement;
  return new Promise((resolve) => {
    const check = () => root.dataset.widgets === "ready" && resolve();
    new MutationObserver(check).observe(root, { attributes: true });
    check();
  });
}

async function begin() {
  if (asked.has("core")) document.querySelectorAll(".slides > .optional").forEach((column) => column.remove());
  document.querySelector("button.theme").addEventListener("click", changeTheme);
  document.addEventListener("keydown", shareKeys, true);
  await widgetsReady();
  await document.fonts.ready;
  keepRoom();
  const fits = [...document.querySelectorAll(".fit")];
  await fitAll(fits);
  watch(fits);
  await Reveal.initialize({
    width: 1280,
    height: 720,
    margin: 0,
    center: false,
    hash: true,
    transition: "none",
    controlsLayout: "edges",
    slideNumber: "c/t",
    pdfMaxPagesPerSlide: 1,
    keyboardCondition: (event) => !inControl(event) && !onButton(event),
    plugins: [RevealNotes],
  });
  document.documentElement.dataset.deck = "ready";
}

begin();
