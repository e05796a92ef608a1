export { AttachModule } from './attach.module.js';
export { AttachService } from './attach.service.js';
export type { ParsingState } from './attach.service.js';
export { DocumentReader } from './document.reader.js';
export { FolderImport, importReport, planReport } from './loader/folder-import.js';
export type { ImportProgress } from './loader/folder-import.js';
export { Attachment } from './attachment.entity.js';
export { LostVectors } from './parsing/lost-vectors.js';
