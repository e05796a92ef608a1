export { DocumentParser } from './document-parser.js';
export type { DocumentFile, PageRecognition } from './document-parser.js';
export type { RecognisedPage, RecognisedPages } from './format/document-source.js';
export type { PageImage } from './format/page-image.js';
export { refusalOf } from './file-refusal.js';
export type { ParsedDocument } from './parse-task.js';
export { openStoredZip } from './format/zip-source.js';
