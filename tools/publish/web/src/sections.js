// The name of a section in an address, on its page and in the notebook: the one that Sphinx makes of its heading.

/** @param {string} heading */
export const slugOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, "")
    .trim()
    .replaceAll(" ", "-");
