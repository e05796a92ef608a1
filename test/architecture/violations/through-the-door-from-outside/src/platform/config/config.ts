export function loadConfig(): void {}
