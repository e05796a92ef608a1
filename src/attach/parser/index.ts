export { DocumentParser } from './document-parser.js';
export type { DocumentFile } from './document-parser.js';
export { refusalOf } from './file-refusal.js';
export type { ParsedDocument } from './parse-task.js';
export { openStoredZip } from './format/zip-source.js';
