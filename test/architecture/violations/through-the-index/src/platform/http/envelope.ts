import { DomainError } from '../error/domain.error.js';

export const envelope = [DomainError];
