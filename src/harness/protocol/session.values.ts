export const PERMISSION_MODES = ['READ_ONLY', 'WORKSPACE_WRITE', 'FULL_ACCESS'] as const;
/** What the harness may do at all; who is asked is the approval policy's matter (harness design, part A). */
export type PermissionMode = (typeof PERMISSION_MODES)[number];

export const APPROVAL_POLICIES = ['ON_REQUEST', 'NEVER'] as const;
/** NEVER: nobody is asked, and what would be asked is denied. */
export type ApprovalPolicy = (typeof APPROVAL_POLICIES)[number];
