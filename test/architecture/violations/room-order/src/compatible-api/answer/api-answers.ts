export { completions } from '../openai/completions.js';
