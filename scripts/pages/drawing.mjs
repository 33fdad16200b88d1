// Draws the screens of a terminal as an animated SVG: each row is there from its first screen to its last, and the whole
// moves up when it is higher than the window. It needs no script, and stands still for readers who prefer that; browsers
// that do not pass this preference on to pictures get a picture of the last screen instead.

/** In pixels: the size of a cell and its baseline, the margin, and the height of the title. In rows: the height of the window. */
const CELL = { width: 8.4, height: 19, baseline: 14 };
const MARGIN = 14;
const TITLE = 30;
const ROWS = 26;

/** In milliseconds: the longest pause, between two screens and at the end. Waits are shortened to it. */
const PAUSE = 900;
const END = 8_000;

/** The colours of a terminal in light and dark: background, text, dim text, and red, green, yellow, blue, magenta, cyan. */
const THEMES = {
  light: ["#f6f8fa", "#1f2328", "#59636e", "#a40e26", "#116329", "#7d4e00", "#0550ae", "#6e3cc0", "#1b6e75"],
  dark: ["#11151d", "#e3e7ee", "#9aa4b2", "#ff8a80", "#6fd08c", "#f0b95b", "#7fb2ff", "#d2a8ff", "#57cfc0"],
};

/** Returns the SVG of these screens; paths that begin with `hidden` begin with `shown` instead. */
export function drawing(frames, { hidden, shown }) {
  const { screens, duration } = timed(frames);
  const columns = Math.max(...screens.flatMap(({ rows }) => rows.map(lengthOf)));
  const [width, height] = [2 * MARGIN + Math.ceil(columns * CELL.width), TITLE + MARGIN + ROWS * CELL.height];
  const rules = new Map();
  const percent = (ms) => `${+((100 * ms) / duration).toFixed(2)}%`;
  const rows = spans(screens, duration).map(({ y, runs, from, to }) => {
    const text = `<text y="${y * CELL.height}"${classOf(rules, from, to, duration, percent)}>${runs.map(runOf).join("")}</text>`;
    return text.replaceAll(escaped(hidden), escaped(shown));
  });
  const moves = screens.map(({ at, rows: { length } }) => ({ at, up: Math.max(0, length - ROWS) * CELL.height }));
  const changes = moves.filter(({ up }, index) => index === 0 || up !== moves[index - 1].up);
  const last = changes.at(-1).up;
  const style = [
    "text{white-space:pre}",
    ...Object.entries(THEMES).map(([name, colours]) => theme(name, colours)),
    `.m{transform:translateY(-${last}px);animation:m ${duration}ms steps(1) infinite}`,
    `@keyframes m{${changes.map(({ at, up }) => `${percent(at)}{transform:translateY(-${up}px)}`).join("")}}`,
    ...rules.values(),
    "@media(prefers-reduced-motion:reduce){*{animation:none!important}}",
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14">
<title id="title">A terminal: npm start runs a registry, terrace publishes a module, terraform init and apply install and use it</title>
<style>${style.join("\n")}</style>
<rect class="bg" width="${width}" height="${height}" rx="10"/>
<g class="dots"><circle cx="20" cy="18" r="5"/><circle cx="38" cy="18" r="5"/><circle cx="56" cy="18" r="5"/></g>
<svg y="${TITLE}" width="${width}" height="${ROWS * CELL.height}"><g transform="translate(${MARGIN} ${CELL.baseline})"><g class="m">
${rows.join("\n")}
</g></g></svg>
</svg>
`;
}

/** Returns the screens with times from 0, without long pauses, and the duration of all. */
function timed(frames) {
  let now = 0;
  const screens = frames.map(({ at, rows }, index) => {
    if (index > 0) now += Math.min(PAUSE, Math.max(0, at - frames[index - 1].at));
    return { at: now, rows };
  });
  return { screens, duration: now + END };
}

/** Returns each content of each row, with the times from and to which it is there. */
function spans(screens, duration) {
  const open = [];
  const done = [];
  for (const { at, rows } of screens) {
    for (let y = 0; y < Math.max(open.length, rows.length); y += 1) {
      const runs = rows[y] ?? [];
      const text = JSON.stringify(runs);
      if (open[y]?.text === text) continue;
      if (open[y]) done.push({ ...open[y], to: at });
      open[y] = { y, runs, text, from: at };
    }
  }
  return [...done, ...open.map((span) => ({ ...span, to: duration }))].filter(({ runs, from, to }) => runs.length > 0 && to > from);
}

/** Returns the class of a row that is there from a time to another; those that remain are visible without animation, too. */
function classOf(rules, from, to, duration, percent) {
  if (from === 0 && to === duration) return "";
  const key = `${from}-${to}`;
  if (!rules.has(key)) {
    const name = `r${rules.size.toString(36)}`;
    const start = from === 0 ? "" : "0%{visibility:hidden}";
    const end = to === duration ? "" : `${percent(to)}{visibility:hidden}`;
    const still = to === duration ? "" : "visibility:hidden;";
    rules.set(key, `.${name}{${still}animation:${name} ${duration}ms steps(1) infinite}@keyframes ${name}{${start}${percent(from)}{visibility:visible}${end}}`);
  }
  return ` class="${rules.get(key).slice(1, rules.get(key).indexOf("{"))}"`;
}

const lengthOf = (runs) => runs.reduce((length, { text }) => length + text.length, 0);

const runOf = ({ text, style }) => (style ? `<tspan class="${style}">${escaped(text)}</tspan>` : escaped(text));

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function theme(name, [background, text, dim, ...colours]) {
  const rules = [`.bg{fill:${background};stroke:${dim};stroke-opacity:.4}`, `text{fill:${text}}`, `.dim,.c0{fill:${dim}}`, `.dots{fill:${dim};opacity:.5}`, ".b{font-weight:600}"];
  rules.push(...colours.map((colour, index) => `.c${index + 1}{fill:${colour}}`));
  return name === "dark" ? `@media(prefers-color-scheme:dark){${rules.join("")}}` : rules.join("");
}
