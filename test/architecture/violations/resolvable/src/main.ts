import './agnet.js';
