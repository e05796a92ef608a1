export function startSimulator(): void {}
