export function embed(): void {}
