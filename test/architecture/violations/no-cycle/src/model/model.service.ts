import type { Credential } from './credential.vault.js';

export type Model = Credential;
