// What is shown today, and the one clock. ?skip=3,deeper leaves out section 3 and all optional parts, a click in the
// overview one slide; agenda, notes and the minute of every slide follow. The core has minutes, and the optional parts
// that ?keep=4a names.

import { tellOthers } from "./mirror.js";

/** @param {string} name */
const asked = (name) => new Set(new URLSearchParams(location.search).get(name)?.split(",").filter(Boolean));
/** Numbers of sections, "deeper", optional parts, ids of slides. */
const skipped = asked("skip");
const kept = asked("keep");
/** @type {Map<HTMLElement, HTMLElement[]>} Each column with its slides, as they are in the file. */
const columns = new Map();

/** @param {HTMLElement} slide */
function isSkipped({ id, classList, dataset }) {
  const { part = "", section = "" } = dataset;
  const names = kept.has(part) ? [id] : [id, part, section.match(/^\d+/)?.[0] ?? "", ...classList];
  return names.some((name) => skipped.has(name));
}

/** @param {HTMLElement[]} slides */
const secondsOf = (slides) => slides.reduce((sum, { dataset }) => sum + Number(dataset.seconds), 0);
/** @param {number} seconds */
const minutes = (seconds) => Math.round(seconds / 60);

function tellTime() {
  const all = [...columns].flatMap(([, slides]) => slides);
  /** @param {HTMLElement} slide */
  const counts = ({ dataset: { part } }) => !part || kept.has(part);
  const timed = all.filter((slide) => counts(slide) && !isSkipped(slide));
  const whole = minutes(secondsOf(timed));
  /** @type {Record<string, number[]>} The minutes at which a section begins and ends. */
  const ends = {};
  let now = 0;
  for (const slide of all) {
    const { section = "" } = slide.dataset;
    const part = [...columns.values()].find((slides) => slides.includes(slide)) ?? [];
    const more = `Optional part ${slide.dataset.part}: about ${minutes(secondsOf(part))} more than the ${whole} minutes.`;
    const clock = counts(slide) ? `Minute ${minutes(now)} of ${whole}.` : more;
    const timing = timed.includes(slide) ? Number(slide.dataset.seconds) : 0;
    Object.assign(slide.dataset, { timing, clock: `minute ${minutes(now)} of ${whole}` });
    slide.querySelector(".clock")?.replaceChildren(clock);
    ends[section] = [ends[section]?.[0] ?? minutes(now), minutes(now + timing)];
    now += timing;
  }
  for (const line of all.flatMap((slide) => [...slide.querySelectorAll(".plan li")])) {
    const [from, to] = ends[line.getAttribute("data-section") ?? ""] ?? [0, 0];
    line.classList.toggle("skipped", from === to);
    const until = line.closest("aside") ? `, to minute ${to}` : "";
    line.querySelector(".minutes")?.replaceChildren(from === to ? "not today" : `${to - from} min${until}`);
  }
}

/** @param {boolean} [everything] as in the overview. */
export function arrange(everything = false) {
  for (const [column, slides] of columns) {
    column.replaceChildren(...slides.filter((slide) => everything || !isSkipped(slide)));
    for (const slide of slides) slide.classList.toggle("skipped", isSkipped(slide));
  }
  const filled = [...columns.keys()].filter((column) => column.childElementCount);
  document.querySelector(".slides")?.replaceChildren(...filled);
  tellTime();
}

/** @param {boolean} everything */
function rearrange(everything) {
  const all = [...columns.values()].flat();
  const here = all.indexOf(Reveal.getCurrentSlide());
  arrange(everything);
  Reveal.sync();
  const shown = [...all.slice(here), ...all.slice(0, here).reverse()].find((slide) => slide.isConnected) ?? all[0];
  const { h, v } = Reveal.getIndices(shown);
  Reveal.slide(h, v);
}

/** What stands below a slide. @param {HTMLElement} [slide] reveal.js asks once before there is one. */
export function placeOf(slide) {
  const number = slide && Reveal.getSlidePastCount(slide) + 1;
  return [slide ? `${number} / ${Reveal.getTotalSlides()}, ${slide.dataset.clock}` : ""];
}

/** @param {string[]} names from another window. */
export function takeSkipped(names) {
  skipped.clear();
  for (const name of names) skipped.add(name);
  rearrange(Reveal.isOverview());
}

/** @param {Event} event */
function leaveOut(event) {
  const slide = event.target instanceof Element ? event.target.closest(".leave-out")?.closest("section") : null;
  if (!slide) return;
  event.stopPropagation(); // or reveal.js goes to the slide
  if (!skipped.delete(slide.id)) skipped.add(slide.id);
  const address = new URL(location.href);
  address.searchParams.set("skip", [...skipped].join(","));
  history.replaceState(null, "", address.href.replaceAll("%2C", ","));
  slide.classList.toggle("skipped", isSkipped(slide));
  tellTime();
  tellOthers({ skipped: [...skipped] });
}

export function setUpSkipping() {
  /** @type {Record<string, number>} how many optional parts a section has */
  const parts = {};
  for (const slide of document.querySelectorAll("section section")) {
    const column = slide.parentElement;
    if (!column || !(slide instanceof HTMLElement)) continue;
    const number = slide.dataset.section?.match(/^\d+/)?.[0] ?? "";
    const isDeeper = slide.matches(".deeper");
    if (isDeeper && !columns.has(column)) parts[number] = (parts[number] ?? 0) + 1;
    if (isDeeper) slide.dataset.part = `${number}${" abcdefghij"[parts[number]]}`;
    columns.set(column, [...(columns.get(column) ?? []), slide]);
  }
  tellTime();
  document.addEventListener("click", leaveOut, true);
  Reveal.on("overviewshown", () => rearrange(true));
  Reveal.on("overviewhidden", () => rearrange(false));
}
