import type { Model } from './model.service.js';

export type Credential = Model;
