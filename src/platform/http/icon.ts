import { phrase } from '../message/index.js';
/** Schemes of addresses that can run in a page or show a file of its reader. */
const REFUSED = ['javascript', 'vbscript', 'data', 'blob', 'file'];

/** Browsers ignore these within a scheme and before it. */
const GAP = String.raw`[\s\p{Cc}]*`;

const refusedScheme = REFUSED.map((scheme) => [...scheme, ':'].join(GAP)).join('|');

/**
 * The rule of a text that pages show as a picture or a link: an address, the id of a file, the name of an icon, or a raster
 * image as a data URI; nothing that could run in the page, such as javascript:, data:text/html or SVG.
 */
export const ICON = {
  pattern: new RegExp(
    String.raw`^(?:\s*data:image/(?:png|jpeg|gif|webp)[;,]|(?!${GAP}(?:${refusedScheme})))`,
    'iu',
  ),
  patternMessage: phrase`must not be a javascript:, vbscript:, data:, blob: or file: address; a data URI of PNG, JPEG, GIF or WebP is allowed`,
};
