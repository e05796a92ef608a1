export { limits } from './api/limits.view.js';
