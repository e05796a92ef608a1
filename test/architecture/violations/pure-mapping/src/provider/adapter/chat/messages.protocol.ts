import { readFileSync } from 'node:fs';

export const prompt = readFileSync('prompt.txt');
