// Bundles and minifies what browsers load: `make bundle`. Each bundle's first line names the sources it is made of and a
// fingerprint of them, by which a test without Node knows an old bundle.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, "..", "..", "..");
const WIDGETS = "helpers/widgets";
const SITE = "tools/publish/web";

// Source, bundle, and its form: a module for anywidget, or a script for a page that may be opened as a file.
const BUNDLES = [
  [`${WIDGETS}/loader.js`, `${WIDGETS}/bundle/loader.js`, "esm"],
  [`${WIDGETS}/explorer/stage.js`, `${WIDGETS}/bundle/stage.js`, "esm"],
  [`${WIDGETS}/quiz/quiz.js`, `${WIDGETS}/bundle/quiz.js`, "esm"],
  [`${WIDGETS}/quiz/practice.js`, `${WIDGETS}/bundle/practice.js`, "esm"],
  [`${WIDGETS}/quiz/progress.js`, `${WIDGETS}/bundle/progress.js`, "esm"],
  [`${WIDGETS}/quiz/solved.js`, `${WIDGETS}/bundle/solved.js`, "esm"],
  [`${WIDGETS}/table/table.js`, `${WIDGETS}/bundle/table.js`, "esm"],
  [`${WIDGETS}/base.css`, `${WIDGETS}/bundle/base.css`, "esm"],
  [`${WIDGETS}/explorer/stage.css`, `${WIDGETS}/bundle/stage.css`, "esm"],
  [`${WIDGETS}/quiz/quiz.css`, `${WIDGETS}/bundle/quiz.css`, "esm"],
  [`${WIDGETS}/quiz/practice.css`, `${WIDGETS}/bundle/practice.css`, "esm"],
  [`${WIDGETS}/table/table.css`, `${WIDGETS}/bundle/table.css`, "esm"],
  [`${SITE}/src/host.js`, `${SITE}/static/host.js`, "iife"],
  [`${SITE}/src/how_far.js`, `${SITE}/bundle/how_far.js`, "iife"],
  [`${SITE}/src/lite.js`, `${SITE}/bundle/lite.js`, "iife"],
  [`${SITE}/slides/deck.js`, `${SITE}/bundle/deck.js`, "iife"],
];

/** The bytes that the fingerprint is of: each source with its name, line ends as on Linux. */
function fingerprint(names) {
  const hash = createHash("sha256");
  for (const name of names)
    hash.update(`${name}\0${readFileSync(join(ROOT, name), "utf8").replaceAll("\r\n", "\n")}\0`);
  return hash.digest("hex").slice(0, 16);
}

for (const [source, bundle, format] of BUNDLES) {
  const made = await build({
    entryPoints: [join(ROOT, source)],
    absWorkingDir: ROOT,
    bundle: true,
    minify: true,
    format,
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    metafile: true,
    write: false,
    nodePaths: [join(HERE, "node_modules")],
    loader: source.endsWith(".js") ? { ".css": "text" } : {},
    tsconfigRaw: {},
  });
  const inputs = Object.keys(made.metafile.inputs).filter((name) => !name.includes("node_modules"));
  const names = inputs.map((name) => name.split(sep).join("/"));
  names.push(
    relative(ROOT, fileURLToPath(import.meta.url))
      .split(sep)
      .join("/"),
  );
  names.sort();
  const first = `/* make bundle: ${fingerprint(names)} ${names.join(" ")} */\n`;
  writeFileSync(join(ROOT, bundle), first + made.outputFiles[0].text);
  console.log(`${bundle}: ${made.outputFiles[0].text.length} characters`);
}
