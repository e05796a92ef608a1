export const toUserView = 1;
