// @ts-check
/**
 * What a terminal shows: a grid of cells, a cursor and the lines that have scrolled away. Holds no
 * element; `parser.js` says what to do, `paint.js` shows it.
 */

/** @typedef {{text: string, style: number}} Cell "" is the right half of a wide character. */

const SCROLLED_MAX = 2_000;
// A style is one number: colours (256 and "none" each), then attributes.
export const NONE = 256;
const FOREGROUND = 0;
const BACKGROUND = 9;
const ATTRIBUTES = 18;
export const ATTRIBUTE = { bold: 1, dim: 2, italic: 4, underline: 8, inverse: 16 };
export const PLAIN = NONE | (NONE << BACKGROUND);

/** @param {number} style */
export function readStyle(style) {
  return { foreground: (style >> FOREGROUND) & 511, background: (style >> BACKGROUND) & 511, attributes: style >> ATTRIBUTES };
}

export class Screen {
  /** @param {number} columns @param {number} rows */
  constructor(columns, rows) {
    this.columns = columns;
    this.rows = rows;
    /** @type {Cell[][]} */
    this.scrolled = [];
    this.style = PLAIN;
    this.isCursorVisible = true;
    this.hasAppKeys = false;
    this.wraps = true;
    this.brackets = false;
    this.title = "";
    /** @type {{lines: Cell[][], x: number, y: number} | null} */
    this.beside = null;
    this.saved = { x: 0, y: 0, style: PLAIN };
    this.x = 0;
    this.y = 0;
    this.isWrapPending = false;
    this.top = 0;
    this.bottom = rows - 1;
    /** @type {Cell[][]} */
    this.lines = Array.from({ length: rows }, () => this.#blankLine());
  }

  #blankLine() {
    return Array.from({ length: this.columns }, () => blank(this.style));
  }

  /** @param {string} character */
  print(character) {
    const width = widthOf(character);
    if (width === 0) {
      const before = this.lines[this.y][Math.max(0, this.x - 1)];
      before.text += character;
      return;
    }
    if (this.isWrapPending || this.x + width > this.columns) {
      if (this.wraps) this.#wrap();
      else this.x = this.columns - width;
    }
    const line = this.lines[this.y];
    line[this.x] = { text: character, style: this.style };
    if (width === 2) line[this.x + 1] = { text: "", style: this.style };
    this.x += width;
    if (this.x >= this.columns) {
      this.x = this.columns - 1;
      this.isWrapPending = true;
    }
  }

  #wrap() {
    this.x = 0;
    this.lineFeed();
  }

  lineFeed() {
    this.isWrapPending = false;
    if (this.y === this.bottom) this.scrollUp(1);
    else if (this.y < this.rows - 1) this.y++;
  }

  reverseLineFeed() {
    if (this.y === this.top) this.scrollDown(1);
    else if (this.y > 0) this.y--;
  }

  /** @param {number} x @param {number} y */
  moveTo(x, y) {
    this.x = Math.max(0, Math.min(this.columns - 1, x));
    this.y = Math.max(0, Math.min(this.rows - 1, y));
    this.isWrapPending = false;
  }

  tab() {
    this.moveTo((Math.floor(this.x / 8) + 1) * 8, this.y);
  }

  /** @param {number} count */
  scrollUp(count) {
    for (let done = 0; done < Math.min(count, this.rows); done++) {
      const [gone] = this.lines.splice(this.top, 1);
      if (this.top === 0 && !this.beside) this.scrolled.push(gone);
      this.lines.splice(this.bottom, 0, this.#blankLine());
    }
    if (this.scrolled.length > SCROLLED_MAX) this.scrolled.splice(0, this.scrolled.length - SCROLLED_MAX);
  }

  /** @param {number} count */
  scrollDown(count) {
    for (let done = 0; done < Math.min(count, this.rows); done++) {
      this.lines.splice(this.bottom, 1);
      this.lines.splice(this.top, 0, this.#blankLine());
    }
  }

  /** @param {number} count */
  insertLines(count) {
    this.#within(() => this.scrollDown(count));
  }

  /** @param {number} count */
  deleteLines(count) {
    this.#within(() => this.scrollUp(count));
  }

  /** Scrolls only what is below the cursor. @param {() => void} scroll */
  #within(scroll) {
    if (this.y < this.top || this.y > this.bottom) return;
    const { top } = this;
    const kept = this.scrolled.length;
    this.top = this.y;
    scroll();
    this.scrolled.length = Math.min(kept, this.scrolled.length);
    this.top = top;
  }

  /** @param {number} count */
  insertCells(count) {
    const line = this.lines[this.y];
    for (let done = 0; done < Math.min(count, this.columns); done++) line.splice(this.x, 0, blank(this.style));
    line.length = this.columns;
  }

  /** @param {number} count */
  deleteCells(count) {
    const line = this.lines[this.y];
    line.splice(this.x, Math.min(count, this.columns));
    while (line.length < this.columns) line.push(blank(this.style));
  }

  /** @param {number} from @param {number} to @param {number} [y] */
  eraseCells(from, to, y = this.y) {
    for (let x = from; x < Math.min(to, this.columns); x++) this.lines[y][x] = blank(this.style);
  }

  /** @param {number} part 0 below, 1 above, 2 all, 3 what has scrolled away */
  eraseScreen(part) {
    if (part === 3) this.scrolled = [];
    else if (part === 0) this.eraseCells(this.x, this.columns);
    else if (part === 1) this.eraseCells(0, this.x + 1);
    const [from, to] = part === 0 ? [this.y + 1, this.rows] : part === 1 ? [0, this.y] : part === 2 ? [0, this.rows] : [0, 0];
    for (let y = from; y < to; y++) this.eraseCells(0, this.columns, y);
  }

  save() {
    this.saved = { x: this.x, y: this.y, style: this.style };
  }

  restore() {
    this.moveTo(this.saved.x, this.saved.y);
    this.style = this.saved.style;
  }

  /** The second screen, which editors and pagers use. @param {boolean} isOn */
  useOther(isOn) {
    if (isOn && !this.beside) {
      this.beside = { lines: this.lines, x: this.x, y: this.y };
      this.lines = Array.from({ length: this.rows }, () => this.#blankLine());
    } else if (!isOn && this.beside) {
      const { lines, x, y } = this.beside;
      this.beside = null;
      this.lines = lines;
      this.resize(this.columns, this.rows);
      this.moveTo(x, y);
    }
  }

  /** @param {number} columns @param {number} rows */
  resize(columns, rows) {
    this.columns = columns;
    for (const line of this.lines) {
      while (line.length < columns) line.push(blank(PLAIN));
      line.length = columns;
    }
    while (this.lines.length > rows) {
      if (this.y < this.lines.length - 1) this.lines.pop();
      else {
        this.scrolled.push(.../** @type {Cell[][]} */ (this.lines.splice(0, 1)));
        this.y--;
      }
    }
    while (this.lines.length < rows) this.lines.push(Array.from({ length: columns }, () => blank(PLAIN)));
    this.rows = rows;
    this.top = 0;
    this.bottom = rows - 1;
    this.moveTo(this.x, this.y);
  }

  /** @param {{foreground?: number, background?: number, attributes?: number}} change */
  restyle(change) {
    const now = { ...readStyle(this.style), ...change };
    this.style = (now.foreground << FOREGROUND) | (now.background << BACKGROUND) | (now.attributes << ATTRIBUTES);
  }

  /** As text, for tests and for copying. */
  text() {
    return this.lines.map((line) => line.map((cell) => cell.text).join("").trimEnd()).join("\n").trimEnd();
  }
}

/** An erased cell keeps the background. @param {number} style @returns {Cell} */
function blank(style) {
  return { text: " ", style: NONE | (style & (511 << BACKGROUND)) };
}

/** @param {string} character */
function widthOf(character) {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x300) return 1;
  if (/^\p{Mark}|^[\u200b-\u200f\ufe00-\ufe0f]/u.test(character)) return 0;
  const isWide =
    (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) || (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) || (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd);
  return isWide ? 2 : 1;
}
