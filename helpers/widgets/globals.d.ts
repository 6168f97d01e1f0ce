// The types that several modules share. They are for `tsc`, which checks the modules; no browser reads them.

/** What a widget holds, as anywidget hands it to a widget's code. */
interface Model {
  get(name: string): any;
  set(name: string, value: unknown): void;
  on(name: string, listener: () => void): void;
  off(name: string, listener: () => void): void;
  widget_manager: { get_model(id: string): Promise<Model> };
}

type View = { model: Model; el: HTMLElement };

/** What it takes to judge an answer; `mark` is the fingerprint of what is asked. */
type Asked = { key: string; right: number; mark: string; options: { length: number } };

/** The progress is sent only what `Asked` has; nothing there reads the rest. */
type Question = Asked & {
  kind?: "check" | "prediction" | "exercise";
  prompt: string;
  code?: string;
  options: string[];
  whys: string[];
};

/** A saved answer. Days are written "2026-11-22"; `at` and `began` are milliseconds. */
type Answer = { right: boolean } & Record<"choice" | "first" | "tries" | "box" | "at" | "began", number> &
  Record<"when" | "due" | "mark", string>;

type Lesson = { name: string; title: string; questions: Question[]; to?: string };

/** A question of a lesson with its place in the storage. */
type Card = { lesson: string; title: string; question: Question; place: string };

/** `changed` says whether an answer is saved that was given to another text. */
type AnsweredCard = Card & { record: Answer | null; changed: boolean };

type Pair = [number, number];
type Triple = [number, number, number];
type Scale = "linear" | "log";
type Row = Float32Array | Uint8Array | Uint16Array;

/** One of several panels in one of several layouts, as layout.py places it. */
type PanelLayout = Record<"ends" | "xlim" | "ylim", Pair> &
  Record<"xscale" | "yscale", Scale> &
  Record<"xticks" | "yticks", [number, string][]> &
  Record<"bare" | "zero", boolean> &
  Record<"title" | "xlabel", string> & { ylabel: string | null; box: [...Pair, ...Pair]; space?: Space };

/** What a panel of three dimensions has beside its box. Angles are in degrees. */
type Space = { view: Pair; center: Triple; radius: number; axes: { name: string; from: Triple; to: Triple }[] };

type Layout = { width: number; height: number; panels: PanelLayout[]; number: number };

type MarkStyle = { kind: string; panel: number; color: string; strings: string[] } & Partial<
  Record<"dashed" | "hollow" | "bold" | "arrow", boolean> & Record<"size" | "limit", number>
> & { label?: string; align?: string; digits?: number | null; names?: string[] | null; moves?: number[] };

type Mark = MarkStyle & { arrays: Record<string, { rows: Row; rowOf: Row; size: number }> };

type Spec = Omit<Layout, "number"> & {
  others: { width: number; height: number; panels: Partial<PanelLayout>[] }[];
  marks: (MarkStyle & { arrays: { name: string; size: number; dtype: string; row_dtype: string }[] })[];
  names: string[];
  options: string[][];
  kinds: ("slider" | "menu")[];
  play?: number;
};

type Places = Record<"x" | "y", (value: number) => number>;

/** The controls of a stage: how many values each has, which one is chosen, and a way to choose others. */
type StageControls = { spec: Spec; sizes: number[]; chosen(): number[]; choose(choices: number[]): void };

// A module that is evaluated twice on a page still finds what the first one keeps.
declare var nnLoaded: Map<string, any>;
declare var normalizationAnswers: Map<string, string | null>;
declare var normalizationAsked: string | undefined;
