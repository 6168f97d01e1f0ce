// What other scripts of a page leave for ours.

declare var normalizationLessons: Lesson[];
declare var lessonsKernel: string;

declare const Reveal: {
  initialize(options: object): Promise<void>;
  on(name: string, listener: () => void): void;
  slide(h: number, v: number): void;
  sync(): void;
  isOverview(): boolean;
  getCurrentSlide(): HTMLElement;
  getIndices(slide: Element): { h: number; v: number };
  getSlidePastCount(slide: Element): number;
  getTotalSlides(): number;
  togglePause(): void;
  addKeyBinding(binding: { keyCode: number; key: string; description: string }, action: () => void): void;
};
declare const RevealNotes: object;
// The containers of JupyterLab's extensions, by name.
declare var _JUPYTERLAB: Record<string, object>;
