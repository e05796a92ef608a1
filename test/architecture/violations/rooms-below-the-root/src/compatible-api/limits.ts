export { limits } from './openai/limits.view.js';
