// What other scripts of a page leave for ours.

declare var normalizationLessons: Lesson[];

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
