import type { Plinth } from './plinth.js';

interface LogLine {
  readonly level?: string;
  readonly msg?: string;
  readonly check?: string;
}

/** What the log says of a dependency, in order: `unavailable` and `recovered`. */
export function changesOf({ log }: Plinth, check: string): string[] {
  return lines(log)
    .filter((line) => line.check === check)
    .flatMap(({ msg }) => /^Dependency (unavailable|recovered)$/.exec(msg ?? '')?.[1] ?? []);
}

/** Lines of level error that were written after the position in the log. */
export function errorsSince({ log }: Plinth, position: number): LogLine[] {
  return lines(log.slice(position)).filter(({ level }) => level === 'error');
}

/** HTTP status and body of the readiness route. */
export async function readiness(plinth: Plinth): Promise<{ status: number; body: ReadyBody }> {
  const { status, text } = await plinth.anonymous().raw('GET', '/health/ready');
  return { status, body: JSON.parse(text) as ReadyBody };
}

export interface ReadyBody {
  readonly status: string;
  readonly checks: Readonly<Record<string, { readonly status: string; readonly kind: string }>>;
}

/** The value of plinth_dependency_up: 1 or 0. */
export async function dependencyUp(plinth: Plinth, check: string): Promise<number> {
  const { text } = await plinth.anonymous().raw('GET', '/metrics');
  const found = new RegExp(`^plinth_dependency_up\\{check="${check}"\\} ([01])$`, 'm').exec(text);
  return Number(found?.[1]);
}

function lines(log: readonly string[]): LogLine[] {
  return log.map((line) => JSON.parse(line) as LogLine);
}
