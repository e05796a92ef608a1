import { canonicalJson } from './canonical-json.js';
import { sha256 } from './ids.js';
import type { Plan, PlanStep } from './plan.js';

/** What a person approves: everything of a plan but its progress. */
export type PlanContent = Pick<Plan, 'summary' | 'files' | 'risks'> & {
  readonly steps: readonly Pick<PlanStep, 'text' | 'added'>[];
};

/** The plan's canonicalHash. Progress, and steps that were added after the approval, do not change it. */
export function planHash({ summary, steps, files, risks }: PlanContent): string {
  const texts = steps.filter(({ added }) => !added).map(({ text }) => text);
  return sha256(canonicalJson({ summary, steps: texts, files, risks }));
}
