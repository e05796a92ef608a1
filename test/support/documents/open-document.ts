import { DECLARATION, zipOf } from './office.js';

const NAMESPACES = ['office', 'text', 'table', 'style', 'draw']
  .map((name) => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`)
  .join(' ');

/** An OpenDocument text with this content of its body, as XML. */
export function odtOf(body: string, styles = ''): Buffer {
  return zipOf(odtParts(body, styles));
}

/** The files in an .odt, to be changed before they are zipped. */
export function odtParts(body: string, styles = ''): Record<string, string> {
  return {
    mimetype: 'application/vnd.oasis.opendocument.text',
    'META-INF/manifest.xml': `${DECLARATION}<manifest/>`,
    'content.xml': `${DECLARATION}<office:document-content ${NAMESPACES}><office:body><office:text>${body}</office:text></office:body></office:document-content>`,
    'styles.xml': `${DECLARATION}<office:document-styles ${NAMESPACES}>${styles}</office:document-styles>`,
  };
}
