export { loadFolder } from '../loader/folder.loader.js';
