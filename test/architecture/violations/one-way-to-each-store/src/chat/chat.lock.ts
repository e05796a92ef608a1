import { Redis } from 'ioredis';

export const lock = new Redis();
