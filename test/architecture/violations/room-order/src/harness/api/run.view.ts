export const toRunView = 1;
