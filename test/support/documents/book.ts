import { DECLARATION, escaped, zipOf } from './office.js';

export interface Chapter {
  /** Its body, as HTML. */
  readonly body: string;
  /** What the table of contents calls it. */
  readonly label?: string;
}

export function epubOf(title: string, chapters: readonly Chapter[]): Buffer {
  return zipOf(epubParts(title, chapters));
}

/** The files in an .epub, to be changed before they are zipped. */
export function epubParts(title: string, chapters: readonly Chapter[]): Record<string, string> {
  const items = chapters.map(
    (_, index) =>
      `<item id="c${index + 1}" href="text/chapter%20${index + 1}.xhtml" media-type="application/xhtml+xml"/>`,
  );
  const order = chapters.map((_, index) => `<itemref idref="c${index + 1}"/>`);
  const points = chapters.map(({ label = '' }, index) =>
    label === ''
      ? ''
      : `<navPoint><navLabel><text>${escaped(label)}</text></navLabel><content src="text/chapter%20${index + 1}.xhtml#start"/></navPoint>`,
  );
  return {
    mimetype: 'application/epub+zip',
    'META-INF/container.xml': `${DECLARATION}<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>`,
    'OEBPS/book.opf': `${DECLARATION}<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>${escaped(title)}</dc:title><dc:creator>Ann Author</dc:creator></metadata><manifest><item id="toc" href="toc.ncx" media-type="application/x-dtbncx+xml"/>${items.join('')}</manifest><spine>${order.join('')}</spine></package>`,
    'OEBPS/toc.ncx': `${DECLARATION}<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd"><ncx><navMap>${points.join('')}</navMap></ncx>`,
    ...Object.fromEntries(
      chapters.map(({ body }, index) => [
        `OEBPS/text/chapter ${index + 1}.xhtml`,
        `${DECLARATION}<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a.js"/></head><body>${body}</body></html>`,
      ]),
    ),
  };
}
