export { AttachModule } from './attach.module.js';
export { AttachService } from './attach.service.js';
export { FolderImport } from './loader/folder-import.js';
export type { ImportProgress } from './loader/folder-import.js';
export { importReport, planReport } from './loader/import-report.js';
