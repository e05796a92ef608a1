import type { Grants } from '../protocol/approval.js';
import type { FileSubject, PolicySubject } from '../protocol/policy.js';
import type { Plan } from '../protocol/plan.js';
import type { FilePlan } from '../tool/tool.js';
import type { Workspace } from '../workspace/workspace.js';

/** What a change of files is to the policy: which of them are protected, planned, granted, or lost unread. */
export function filesSubject(
  { files }: FilePlan,
  {
    workspace,
    plan,
    grants,
  }: { readonly workspace: Workspace; readonly plan: Plan | null; readonly grants: Grants },
): PolicySubject & { readonly kind: 'files' } {
  const planned = plannedPaths(plan, workspace);
  return {
    kind: 'files',
    files: files.map(({ operation: { path, op }, unread }): FileSubject => {
      const { protection, secret } = workspace.classify(path);
      return {
        path,
        protection,
        secret,
        destructive: op === 'DELETE' || (op === 'UPDATE' && unread),
        planned: planned.has(path),
        granted: grants.path(path),
      };
    }),
  };
}

/** The paths that an approved plan names, as tools normalise them. A path that no tool would take allows nothing. */
function plannedPaths(plan: Plan | null, workspace: Workspace): ReadonlySet<string> {
  const paths = new Set<string>();
  if (plan?.reviewState !== 'APPROVED') return paths;
  for (const file of plan.files) {
    try {
      paths.add(workspace.pathOf(file));
    } catch {
      // Said when the plan was made; it does no harm here.
    }
  }
  return paths;
}
