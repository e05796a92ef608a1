import { loadConfig } from './platform/config/config.js';

loadConfig();
