export const envelope = 1;
