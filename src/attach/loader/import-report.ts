import type { ImportResult } from './folder-import.js';
import type { SkippedEntry } from './folder.loader.js';
import type { ImportPlan } from './import-plan.js';

/** Names of one reason that are listed before the rest is only counted. */
const LISTED = 10;

/** What an import would do, for people. */
export function planReport(plan: ImportPlan): string {
  return [`Would store ${countsOf(plan)}.`, ...listOf(plan), ...skippedIn(plan)].join('\n');
}

/** What an import has done, for people. */
export function importReport(plan: ImportPlan, { parsed, failed }: ImportResult): string {
  return [
    `Imported ${countsOf(plan)}. Parsed: ${parsed}, failed: ${failed.length}.`,
    ...failed.map(({ name, reason }) => `  failed: ${name}: ${reason}`),
    ...skippedIn(plan),
  ].join('\n');
}

function countsOf(plan: ImportPlan): string {
  const changed = plan.toStore.filter(({ name }) => isChanged(plan, name)).length;
  return `${plan.toStore.length - changed} new and ${changed} changed files, ${plan.unchanged.length} unchanged`;
}

function listOf(plan: ImportPlan): string[] {
  return plan.toStore.map(({ name }) => `  ${isChanged(plan, name) ? 'changed' : 'new'}: ${name}`);
}

function isChanged({ outdated }: ImportPlan, name: string): boolean {
  return outdated.some(({ document }) => document.name === name);
}

function skippedIn({ skipped }: ImportPlan): string[] {
  const byReason = Map.groupBy(skipped, (entry: SkippedEntry) => entry.skipped);
  return [...byReason].map(([reason, entries]) => {
    const names = entries.slice(0, LISTED).map(({ name }) => name);
    const more = entries.length - names.length;
    return `  skipped, ${reason} (${entries.length}): ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  });
}
