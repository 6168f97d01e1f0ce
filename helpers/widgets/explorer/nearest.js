// Where a handle can be put: only at tabulated positions. No element of a page is touched here.

import { at, positionOf } from "./frames.js";

/** @typedef {{ choices: number[], x: number, y: number }} Place */

// Every place that a handle has, in pixels, while the controls that it does not move stay. `chosen` is which value of
// each control is chosen, `sizes` how many it has.
/** @param {Mark} mark @param {number[]} chosen @param {number[]} sizes @param {Places} places @returns {Place[]} */
export function placesOf(mark, chosen, sizes, places) {
  let all = [chosen];
  for (const k of mark.moves ?? []) {
    all = all.flatMap((choices) => Array.from({ length: sizes[k] }, (_, value) => choices.with(k, value)));
  }
  return all.map((choices) => placeOf(mark, choices, sizes, places));
}

/** @param {Mark} mark @param {number[]} choices @param {number[]} sizes @param {Places} places @returns {Place} */
export function placeOf(mark, choices, sizes, places) {
  const position = positionOf(choices, sizes);
  return { choices, x: places.x(at(mark, "x", position)[0]), y: places.y(at(mark, "y", position)[0]) };
}

// The place nearest to a point; of two that are equally near the present one, else the first.
/** @param {Place[]} all @param {Place} present @param {number} x @param {number} y */
export function nearest(all, present, x, y) {
  /** @param {Place} place */
  const distance = (place) => Math.hypot(place.x - x, place.y - y);
  return all.reduce((best, place) => (distance(place) < distance(best) - 1e-6 ? place : best), present);
}

/** @type {Record<string, Pair>} */
const WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const AHEAD = 0.05; // of a step must go the key's way
const FLAT = 0.1; // of a track's length: if it is no wider than that, keys across it work as on a slider

// Where a key moves a handle: one value further of one control, to the place that lies in the key's way. Home and End
// are the first and the last value. Null for other keys, and where there is no such place.
/** @param {string} key @param {Mark} mark @param {number[]} chosen @param {number[]} sizes @param {Places} places */
export function step(key, mark, chosen, sizes, places) {
  const moves = mark.moves ?? [];
  /** @param {number} k @param {number} value */
  const to = (k, value) => placeOf(mark, chosen.with(k, value), sizes, places);
  if (key === "Home") return to(moves[0], 0);
  if (key === "End") return to(moves[0], sizes[moves[0]] - 1);
  if (!(key in WAYS)) return null;
  const [wx, wy] = WAYS[key];
  const here = placeOf(mark, chosen, sizes, places);
  /** @param {number} k @param {number} change */
  const beside = (k, change) => {
    const value = chosen[k] + change;
    return value >= 0 && value < sizes[k] ? [to(k, value)] : [];
  };
  if (moves.length === 1 && isAcross(placesOf(mark, chosen, sizes, places), wx !== 0)) {
    return beside(moves[0], wx - wy)[0] ?? null;
  }
  const ahead = moves
    .flatMap((k) => [...beside(k, -1), ...beside(k, 1)])
    .map((place) => {
      const [dx, dy] = [place.x - here.x, place.y - here.y];
      return { place, share: (dx * wx + dy * wy) / (Math.hypot(dx, dy) || 1) };
    })
    .filter(({ share }) => share > AHEAD)
    .sort((a, b) => b.share - a.share);
  return ahead[0]?.place ?? null;
}

/** @param {Place[]} all @param {boolean} horizontal */
function isAcross(all, horizontal) {
  /** @param {number[]} values */
  const span = (values) => Math.max(...values) - Math.min(...values);
  const [wide, high] = [span(all.map(({ x }) => x)), span(all.map(({ y }) => y))];
  return horizontal ? wide < FLAT * high : high < FLAT * wide;
}
