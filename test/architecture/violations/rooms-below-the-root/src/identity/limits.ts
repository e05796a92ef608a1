export { limits } from './user/limits.view.js';
