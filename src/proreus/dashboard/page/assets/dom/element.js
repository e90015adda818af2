// @ts-check
/**
 * Elements. Text goes in as text nodes alone and attributes are set by name, so nothing that an
 * object says can become markup; links lead into this page or nowhere.
 */

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {{[attribute: string]: string | number | boolean | undefined | ((event: any) => void)}} Attributes */

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag @param {Attributes} [attributes] A function is a listener: `onclick`.
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (name === "href" && !String(value).startsWith("#")) continue;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/** @param {Element} parent @param {Child[]} children */
function append(parent, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : String(child));
  }
}

/** @param {Element} parent @param {...Child} children */
export function replace(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
}

/** Text is written only where it differs: layout is what costs. @param {Element} element @param {string} text */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} tag @param {Record<string, string | number>} attributes @param {...(Node | string)} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes, ...children) {
  const element = /** @type {SVGElement} */ (document.createElementNS(SVG, tag));
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}
