export const completions = 1;
