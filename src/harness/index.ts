export { HarnessModule } from './harness.module.js';
