// The types that several modules share. They are for `tsc`, which checks the modules; no browser reads them.

/** What a widget holds, as anywidget hands it to a widget's code. */
interface Model {
  get(name: string): any;
  set(name: string, value: unknown): void;
  on(name: string, listener: () => void): void;
  off(name: string, listener: () => void): void;
  widget_manager: { get_model(id: string): Promise<Model> };
}

interface View {
  model: Model;
  el: HTMLElement;
}

// --------------------------------------------------------------------------------------------- questions and answers

/** What it takes to judge an answer; the progress is sent no more. */
interface Asked {
  key: string;
  right: number;
  /** The fingerprint of what is asked. */
  mark: string;
  options: { length: number };
}

interface Question extends Asked {
  kind?: "check" | "prediction";
  prompt: string;
  code?: string;
  options: string[];
  whys: string[];
}

/** A question on the page. */
interface Asking {
  element: HTMLElement;
  start(): void;
  /** Whether the first and the present answer are right. */
  result(): { first: boolean; now: boolean } | null;
}

/** A saved answer. Days are written "2026-11-22"; `at` and `began` are milliseconds. */
interface Answer {
  choice: number;
  right: boolean;
  when: string;
  at: number;
  began: number;
  tries: number;
  first: number;
  mark: string;
  box: number;
  due: string;
}

interface Lesson<Kind extends Asked = Question> {
  name: string;
  title: string;
  questions: Kind[];
  to?: string;
}

/** A question of a lesson with its place in the storage. */
interface Card<Kind extends Asked = Question> {
  lesson: string;
  title: string;
  question: Kind;
  place: string;
}

interface AnsweredCard<Kind extends Asked = Question> extends Card<Kind> {
  record: Answer | null;
  /** Whether an answer is saved that was given to another text. */
  changed: boolean;
}

interface Counts {
  all: number;
  answered: number;
  known: number;
  due: number;
  missed: number;
  new: number;
}

// --------------------------------------------------------------------------------------------------------- explorers

type Pair = [number, number];
type Scale = "linear" | "log";
type Row = Float32Array | Uint8Array | Uint16Array;

/** One of several panels in one of several layouts, as layout.py places it. */
interface PanelLayout {
  box: [number, number, number, number];
  ends: Pair;
  title: string;
  xlabel: string;
  ylabel: string | null;
  xlim: Pair;
  ylim: Pair;
  xscale: Scale;
  yscale: Scale;
  xticks: [number, string][];
  yticks: [number, string][];
  bare: boolean;
  zero: boolean;
  space?: Space;
}

/** What a panel of three dimensions has beside its box. Angles are in degrees. */
interface Space {
  view: Pair;
  center: [number, number, number];
  radius: number;
  axes: { name: string; from: [number, number, number]; to: [number, number, number] }[];
}

interface Layout {
  width: number;
  height: number;
  panels: PanelLayout[];
  number: number;
}

interface PackedArray {
  name: string;
  size: number;
  dtype: string;
  row_dtype: string;
}

interface MarkStyle {
  kind: string;
  panel: number;
  color: string;
  label?: string;
  dashed?: boolean;
  hollow?: boolean;
  bold?: boolean;
  arrow?: boolean;
  size?: number;
  align?: string;
  limit?: number;
  digits?: number | null;
  names?: string[] | null;
  moves?: number[];
  strings: string[];
}

interface Mark extends MarkStyle {
  arrays: Record<string, { rows: Row; rowOf: Row; size: number }>;
}

interface Spec {
  width: number;
  height: number;
  panels: PanelLayout[];
  others: { width: number; height: number; panels: Partial<PanelLayout>[] }[];
  marks: (MarkStyle & { arrays: PackedArray[] })[];
  names: string[];
  options: string[][];
  kinds: ("slider" | "menu")[];
  play?: number;
}

type ToPixels = (value: number) => number;
interface Places {
  x: ToPixels;
  y: ToPixels;
}

/** The controls of a stage: how many values each has, which one is chosen, and a way to choose others. */
interface StageControls {
  spec: Spec;
  sizes: number[];
  chosen(): number[];
  choose(choices: number[]): void;
}

// ------------------------------------------------------------------------------------------------------------- pages

declare module "*.css" {
  const text: string;
  export default text;
}

// A module that is evaluated twice on a page still finds what the first one keeps.
declare var nnLoaded: Map<string, any>;
declare var normalizationAnswers: Map<string, string | null>;
