export { SourceModule } from './source.module.js';
export { AddressRefusedError, nameOf, WebFetch } from './fetch.js';
export { readRobots } from './robots.js';
