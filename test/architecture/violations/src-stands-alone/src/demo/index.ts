export { startSimulator } from '../../simulator/index.js';
