export { helper } from '../misc/helper.js';
