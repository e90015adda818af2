// @ts-check
/** What programs send to terminals (ECMA-48 and what xterm adds, as far as shells use it). */

import { ATTRIBUTE, NONE, PLAIN, readStyle } from "./screen.js";

/** @typedef {import("./screen.js").Screen} Screen */

const SEQUENCE_MAX = 4_096;

export class Parser {
  /** @param {Screen} screen @param {(answer: string) => void} answer Programs may ask the terminal things. */
  constructor(screen, answer) {
    this.screen = screen;
    this.answer = answer;
    /** @type {"text" | "escape" | "csi" | "string" | "charset"} */
    this.state = "text";
    this.collected = "";
  }

  /** @param {string} text */
  write(text) {
    for (const character of text) this.#take(character);
  }

  /** @param {string} character */
  #take(character) {
    if (character === "\x1b" && this.state !== "string") {
      this.state = "escape";
      this.collected = "";
      return;
    }
    switch (this.state) {
      case "text":
        this.#text(character);
        break;
      case "escape":
        this.#escape(character);
        break;
      case "charset":
        this.state = "text";
        break;
      case "csi":
        if (character < " ") this.#text(character);
        else if (character >= "@" && character <= "~") {
          this.state = "text";
          this.#csi(character, this.collected);
        } else if (this.collected.length < SEQUENCE_MAX) this.collected += character;
        break;
      case "string":
        if (character === "\x07" || (character === "\\" && this.collected.endsWith("\x1b"))) {
          this.state = "text";
          const [, title] = /^[02];([^\x1b]*)/.exec(this.collected) ?? [];
          if (title !== undefined) this.screen.title = title;
        } else if (this.collected.length < SEQUENCE_MAX) this.collected += character;
        break;
    }
  }

  /** @param {string} character */
  #text(character) {
    const { screen } = this;
    switch (character) {
      case "\r":
        screen.moveTo(0, screen.y);
        break;
      case "\n":
      case "\v":
      case "\f":
        screen.lineFeed();
        break;
      case "\b":
        screen.moveTo(screen.x - 1, screen.y);
        break;
      case "\t":
        screen.tab();
        break;
      default:
        if (character >= " " && character !== "\x7f") screen.print(character);
    }
  }

  /** @param {string} character */
  #escape(character) {
    const { screen } = this;
    this.state = "text";
    switch (character) {
      case "[":
        this.state = "csi";
        break;
      case "]":
      case "P":
      case "^":
      case "_":
        this.state = "string";
        break;
      case "(":
      case ")":
      case "*":
      case "+":
      case "#":
        this.state = "charset";
        break;
      case "7":
        screen.save();
        break;
      case "8":
        screen.restore();
        break;
      case "D":
        screen.lineFeed();
        break;
      case "E":
        screen.moveTo(0, screen.y);
        screen.lineFeed();
        break;
      case "M":
        screen.reverseLineFeed();
        break;
      case "c":
        screen.style = PLAIN;
        screen.eraseScreen(2);
        screen.moveTo(0, 0);
        break;
    }
  }

  /** @param {string} final @param {string} collected */
  #csi(final, collected) {
    const isPrivate = /^[?>=!]/.test(collected);
    const numbers = collected.replace(/[^0-9;:]/g, "").split(/[;:]/).map((part) => (part === "" ? -1 : Number(part)));
    if (isPrivate) this.#privateMode(collected[0], final, numbers);
    else this.#control(final, numbers);
  }

  /** @param {string} final @param {number[]} numbers */
  #control(final, numbers) {
    const { screen } = this;
    const first = numbers[0] ?? -1;
    const count = Math.max(1, first);
    const part = Math.max(0, first);
    switch (final) {
      case "A": return screen.moveTo(screen.x, screen.y - count);
      case "B":
      case "e": return screen.moveTo(screen.x, screen.y + count);
      case "C":
      case "a": return screen.moveTo(screen.x + count, screen.y);
      case "D": return screen.moveTo(screen.x - count, screen.y);
      case "E": return screen.moveTo(0, screen.y + count);
      case "F": return screen.moveTo(0, screen.y - count);
      case "G":
      case "`": return screen.moveTo(count - 1, screen.y);
      case "d": return screen.moveTo(screen.x, count - 1);
      case "H":
      case "f": return screen.moveTo(Math.max(1, numbers[1] ?? 1) - 1, count - 1);
      case "J": return screen.eraseScreen(part);
      case "K": return screen.eraseCells(part === 0 ? screen.x : 0, part === 1 ? screen.x + 1 : screen.columns);
      case "L": return screen.insertLines(count);
      case "M": return screen.deleteLines(count);
      case "P": return screen.deleteCells(count);
      case "@": return screen.insertCells(count);
      case "X": return screen.eraseCells(screen.x, screen.x + count);
      case "S": return screen.scrollUp(count);
      case "T": return screen.scrollDown(count);
      case "s": return screen.save();
      case "u": return screen.restore();
      case "m": return this.#graphics(numbers);
      case "r": return this.#region(numbers);
      case "n":
        if (first === 6) this.answer(`\x1b[${screen.y + 1};${screen.x + 1}R`);
        else if (first === 5) this.answer("\x1b[0n");
        return;
      case "c": return this.answer("\x1b[?1;2c");
    }
  }

  /** @param {number[]} numbers */
  #region([top, bottom]) {
    const { screen } = this;
    screen.top = Math.max(1, top ?? 1) - 1;
    screen.bottom = Math.min(screen.rows, bottom > 0 ? bottom : screen.rows) - 1;
    if (screen.top >= screen.bottom) [screen.top, screen.bottom] = [0, screen.rows - 1];
    screen.moveTo(0, 0);
  }

  /** @param {string} mark @param {string} final @param {number[]} numbers */
  #privateMode(mark, final, numbers) {
    if (mark !== "?" || (final !== "h" && final !== "l")) return;
    const isOn = final === "h";
    const { screen } = this;
    for (const mode of numbers) {
      if (mode === 1) screen.hasAppKeys = isOn;
      else if (mode === 7) screen.wraps = isOn;
      else if (mode === 25) screen.isCursorVisible = isOn;
      else if (mode === 2004) screen.brackets = isOn;
      else if (mode === 47 || mode === 1047 || mode === 1049) screen.useOther(isOn);
    }
  }

  /** Colours and weight. @param {number[]} numbers */
  #graphics(numbers) {
    const { screen } = this;
    for (let at = 0; at < numbers.length; at++) {
      const code = Math.max(0, numbers[at]);
      const { attributes } = readStyle(screen.style);
      const set = (/** @type {number} */ bits) => screen.restyle({ attributes: attributes | bits });
      const clear = (/** @type {number} */ bits) => screen.restyle({ attributes: attributes & ~bits });
      if (code === 0) screen.style = PLAIN;
      else if (code === 1) set(ATTRIBUTE.bold);
      else if (code === 2) set(ATTRIBUTE.dim);
      else if (code === 3) set(ATTRIBUTE.italic);
      else if (code === 4) set(ATTRIBUTE.underline);
      else if (code === 7) set(ATTRIBUTE.inverse);
      else if (code === 22) clear(ATTRIBUTE.bold | ATTRIBUTE.dim);
      else if (code === 23) clear(ATTRIBUTE.italic);
      else if (code === 24) clear(ATTRIBUTE.underline);
      else if (code === 27) clear(ATTRIBUTE.inverse);
      else if (code >= 30 && code <= 37) screen.restyle({ foreground: code - 30 });
      else if (code === 39) screen.restyle({ foreground: NONE });
      else if (code >= 40 && code <= 47) screen.restyle({ background: code - 40 });
      else if (code === 49) screen.restyle({ background: NONE });
      else if (code >= 90 && code <= 97) screen.restyle({ foreground: code - 82 });
      else if (code >= 100 && code <= 107) screen.restyle({ background: code - 92 });
      else if (code === 38 || code === 48) {
        const isIndexed = numbers[at + 1] === 5;
        const color = isIndexed ? numbers[at + 2] & 255 : nearest(numbers[at + 2], numbers[at + 3], numbers[at + 4]);
        screen.restyle(code === 38 ? { foreground: color } : { background: color });
        at += isIndexed ? 2 : 4;
      }
    }
  }
}

/** The nearest colour of the 6 × 6 × 6 cube. @param {number} red @param {number} green @param {number} blue */
function nearest(red, green, blue) {
  const step = (/** @type {number} */ value) => Math.max(0, Math.min(5, Math.round((value || 0) / 51)));
  return 16 + 36 * step(red) + 6 * step(green) + step(blue);
}
