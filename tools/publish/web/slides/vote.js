// A vote of the class on the question of a slide: hands are counted, talked over, counted again, then the answer is
// shown with all reasons. Counts last for the lecture (sessionStorage); the learner's own answers are not touched.

import { make } from "../../../../helpers/widgets/text.js";
import { tellOthers } from "./mirror.js";

/** @typedef {"" | "first" | "second" | "answer"} Stage */
/** @typedef {{stage: Stage, first: number[], second: number[], last: number[]}} Votes */

/** @type {Stage[]} */
const STAGES = ["", "first", "second", "answer"];
const SAYS = { "": "", first: "Vote: A to E", second: "Talk to your neighbor, vote again", answer: "The answer" };
const PLACE = `deck-votes${location.pathname}`;
/** @type {Record<string, { state: any }>} */
const models = JSON.parse(document.getElementById("widget-state")?.textContent ?? "{}");

/** @type {Record<string, Votes>} by the slide's id. */
let counts = {};
try {
  counts = JSON.parse(sessionStorage.getItem(PLACE) ?? "{}");
} catch {
  // refused: the counts last until the page is left
}

/** @param {Element} sheet @returns {Question} */
const questionOf = (sheet) => models[sheet.querySelector(".live")?.getAttribute("data-model") ?? ""].state.questions[0];
/** @param {Element} sheet */
const rowsOf = (sheet) => [...sheet.querySelectorAll(".quiz-option")];

/** @param {{slide: string, votes: Votes}} told by a key, or by another window. */
export function takeVotes({ slide, votes }) {
  counts[slide] = votes;
  try {
    sessionStorage.setItem(PLACE, JSON.stringify(counts));
  } catch {
    // refused
  }
  const sheet = document.querySelector(`#${CSS.escape(slide)} > .is-question`);
  if (!sheet) return;
  sheet.setAttribute("data-vote", votes.stage);
  sheet.querySelector(".stage")?.replaceChildren(SAYS[votes.stage]);
  const most = Math.max(1, ...votes.first, ...votes.second);
  for (const [option, row] of rowsOf(sheet).entries()) {
    row.classList.toggle("is-right", votes.stage === "answer" && option === questionOf(sheet).right);
    for (const [round, bar] of row.querySelectorAll(".hands b").entries()) {
      const count = [votes.first, votes.second][round][option];
      bar.setAttribute("style", `width: ${(100 * count) / most}%`);
      bar.replaceChildren(count ? String(count) : "");
    }
  }
}

/** @param {(votes: Votes, options: number) => void} change to the votes on the slide that is shown, if it is a question. */
function changeVotes(change) {
  const sheet = document.querySelector(".slides section.present:not(.stack) > .is-question");
  const slide = sheet?.parentElement?.id;
  if (!sheet || !slide) return false;
  const votes = counts[slide] ?? { stage: "", first: [0, 0, 0, 0, 0], second: [0, 0, 0, 0, 0], last: [] };
  change(votes, rowsOf(sheet).length);
  takeVotes({ slide, votes });
  tellOthers({ slide, votes });
  return true;
}

/** @param {number} option @returns {boolean} whether there is a question to vote on. */
export function countHand(option) {
  return changeVotes((votes, options) => {
    votes.stage ||= "first";
    if (votes.stage === "answer" || option >= options) return;
    votes[votes.stage][option] += 1;
    votes.last.push(option);
  });
}

export function takeHandBack() {
  changeVotes(({ stage, last, ...rounds }) => {
    const option = last.pop();
    if (option !== undefined && (stage === "first" || stage === "second")) rounds[stage][option] -= 1;
  });
}

export function nextStage() {
  changeVotes((votes) => {
    votes.stage = STAGES[(STAGES.indexOf(votes.stage) + 1) % STAGES.length];
    votes.last = [];
  });
}

/** Bars and reasons at every option. */
export function setUpVotes() {
  for (const sheet of document.querySelectorAll(".is-question")) {
    for (const [option, row] of rowsOf(sheet).entries()) {
      const hands = make("span", "hands");
      hands.append(make("b"), make("b"));
      row.append(hands, make("span", "why", questionOf(sheet).whys[option]));
    }
  }
}

/** The counts of this lecture. */
export function showVotes() {
  for (const [slide, votes] of Object.entries(counts)) takeVotes({ slide, votes });
}
