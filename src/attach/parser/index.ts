export { DocumentParser } from './document-parser.js';
export type { DocumentFile, PageRecognition } from './document-parser.js';
export type { RecognisedPage, RecognisedPages } from './format/document-source.js';
export type { PageImage } from './format/page-image.js';
export { refusalOf } from './document.errors.js';
export type { ParsedDocument } from './parse-task.js';
export { openStoredZip } from './format/zip-content.js';
