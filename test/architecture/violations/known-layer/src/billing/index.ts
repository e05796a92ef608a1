export const bill = 1;
