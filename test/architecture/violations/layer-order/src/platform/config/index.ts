export { envelope } from '../http/index.js';
