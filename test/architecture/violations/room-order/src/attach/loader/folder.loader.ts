export const loadFolder = 1;
