export { ContentMemoryError, ContentRefusedError } from './content/content.checks.js';
export { ContentService } from './content/content.service.js';
export { MediaFailedError, NoImageError, NoSoundError } from './media.errors.js';
export { MediaModule } from './media.module.js';
export type { MediaOptions } from './media.module.js';
export { MediaService } from './media.service.js';
