export { embed } from '../../src/provider/index.js';
