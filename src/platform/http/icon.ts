/**
 * The rule of a text that pages show as a picture: an http or https address, an address without a scheme (relative, or the
 * id of a file), or a raster image as a data URI. Everything else could run in the page: javascript:, data:text/html, SVG.
 * Browsers ignore line ends and tabs in an address, so a colon before the first slash is a scheme, whatever is before it.
 */
export const ICON = {
  pattern: /^(?:\s*https?:\/\/|\s*data:image\/(?:png|jpeg|gif|webp)[;,]|(?![^/?#]*:))/i,
  patternMessage:
    'must be an http or https address, an address without a scheme, the id of a file, or a data URI of PNG, JPEG, GIF or WebP',
};
