export { MediaModule } from './media.module.js';
export type { MediaOptions } from './media.module.js';
export { mediaEntities } from './task/task.entity.js';
