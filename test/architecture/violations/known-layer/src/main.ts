import './billing/index.js';
