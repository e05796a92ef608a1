export const toolsRuntime = 1;
