import { loadConfig } from './config/config.js';

loadConfig();
