export { SourceModule } from './source.module.js';
