export { CompatModule } from './compat.module.js';
