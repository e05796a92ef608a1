import { In } from 'typeorm';

export const wanted = In([1, 2]);
