export { toRunView } from '../api/run.view.js';
