export { MediaModule } from './media.module.js';
export type { MediaOptions } from './media.module.js';
