import { Flag, OneOf, Text, Whole } from '../../../platform/http/index.js';
import { APPROVAL_POLICIES, PERMISSION_MODES } from '../../protocol/policy.js';

/** Longest key that makes a repeated request harmless. */
export const LONGEST_KEY = 256;

export class CreateHarnessSessionBody {
  @Text({
    optional: true,
    max: 4_096,
    description: 'A folder below one of the configured roots; the tenant’s own when not given',
    example: '/srv/workspaces/shop',
  })
  workspacePath?: string;

  @Text({
    max: 200,
    description: 'modelName of a chat model that can call tools',
    example: 'gpt-4o-mini',
  })
  model: string;

  @OneOf(PERMISSION_MODES, { description: 'What runs may do at all' })
  permissionMode: (typeof PERMISSION_MODES)[number];

  @OneOf(APPROVAL_POLICIES, {
    optional: true,
    description: 'ON_REQUEST when not given; NEVER: what would be asked is denied',
  })
  approvalPolicy?: (typeof APPROVAL_POLICIES)[number];

  @Text({ optional: true, max: 200, description: 'The workspace’s name when not given' })
  title?: string;

  @Text({ max: LONGEST_KEY, description: 'The same key with the same body is the same session' })
  idempotencyKey: string;
}

export class PinSessionBody {
  @Flag({ description: 'Pinned sessions come first in the list' })
  pinned: boolean;
}

export class HarnessSessionListQuery {
  @Flag({ optional: true, description: 'The deleted sessions instead of the others' })
  deleted?: boolean;

  @Whole({
    optional: true,
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    description: 'Of this user instead of the caller, for super administrators',
  })
  userId?: number;

  @Whole({ optional: true, min: 1, max: 1_000_000, description: 'Page, counted from 1' })
  pageNum?: number;

  @Whole({ optional: true, min: 1, max: 1_000, description: 'Sessions a page; 1000 by default' })
  pageSize?: number;
}
