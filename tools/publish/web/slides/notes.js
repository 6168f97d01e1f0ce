// The teacher's paper, ?print-pdf&notes: the notes of every slide, a page for each section. What opens the lesson stands
// above the first section, what closes it below the skill check.

/** @template {keyof HTMLElementTagNameMap} Tag @param {Tag} tag @param {string} textContent */
const make = (tag, textContent) => Object.assign(document.createElement(tag), { textContent });

export function layOutNotes() {
  const paper = Object.assign(make("div", ""), { className: "paper" });
  /** @type {HTMLElement[]} */
  const pages = [];
  let last = "";
  for (const [number, slide] of document.querySelectorAll(".slides section section").entries()) {
    const { section = "", label = "" } = slide instanceof HTMLElement ? slide.dataset : {};
    if (!pages.length || (section !== last && /^[2-9]|Skill check/.test(section))) pages.push(make("article", ""));
    const page = pages[pages.length - 1];
    page.append(...(section === last ? [] : [make("h2", section)]), make("h3", `${number + 1} ${label}`));
    page.append(...(slide.querySelector("aside")?.childNodes ?? []));
    last = section;
  }
  paper.append(...pages);
  document.querySelector("main")?.replaceWith(paper);
  document.documentElement.classList.add("on-paper");
  for (const page of pages) {
    for (let zoom = 1; page.getBoundingClientRect().height > 940 && zoom > 0.5; zoom -= 0.02) {
      page.style.setProperty("--zoom", zoom.toFixed(2));
    }
  }
}
