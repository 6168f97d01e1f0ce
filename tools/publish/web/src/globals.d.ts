// What other scripts of a page leave for ours.

declare var normalizationLessons: Lesson[];
declare var lessonsKernel: string;

declare const Reveal: {
  initialize(options: object): Promise<void>;
  next(): void;
  prev(): void;
  on(name: string, listener: () => void): void;
  getCurrentSlide(): Element;
  togglePause(): void;
  addKeyBinding(binding: { keyCode: number; key: string; description: string }, action: () => void): void;
};
declare const RevealNotes: object;
// The containers of JupyterLab's extensions, by name.
declare var _JUPYTERLAB: Record<string, object>;
