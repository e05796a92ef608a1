import type { TFunction } from 'i18next';
import type texts from './texts.en.json';

/** The actions and kinds of records that the console has words for; the service may write others. */
export const ACTIONS = [
  'create',
  'update',
  'delete',
  'status-change',
  'permission-change',
  'credential-change',
  'password-change',
  'upload',
  'login',
  'login-failed',
  'logout',
  'register',
  'revoke',
  'switch-tenant',
  'access-view',
  'call',
] as const satisfies readonly (keyof (typeof texts)['audit']['action'])[];

export const TARGETS = [
  'user',
  'role',
  'tenant',
  'client',
  'api_key',
  'sso_provider',
  'sso_settings',
  'user_group',
  'provisioned_group',
  'provider',
  'model',
  'limit',
  'agent',
  'tool_server',
  'access',
  'knowledge_base',
  'attachment',
  'fragment',
  'test_set',
  'file',
  'chat_session',
  'chat_message',
  'dictionary_type',
  'dictionary_entry',
  'harness_session',
  'harness_run',
  'harness_plan',
  'harness_approval',
  'harness_grant',
  'harness_effect',
  'harness_switch',
] as const satisfies readonly (keyof (typeof texts)['audit']['target'])[];

type Target = (typeof TARGETS)[number];

interface Entry {
  readonly actorName: string | null;
  readonly action: string;
  readonly targetType: string;
  readonly targetId: string | null;
  readonly targetName: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Shortens a UUID to its end, because records of the same minute begin with the same digits. */
function shortOf(id: string): string {
  return UUID.test(id) ? `…${id.slice(-8)}` : id;
}

/** "user jo (12)", or "user 12" if the record has no name. */
function targetOf(t: TFunction<'administration'>, entry: Entry): string {
  const { targetType, targetId, targetName: name } = entry;
  const kind = t(`audit.target.${targetType as Target}`, { defaultValue: targetType });
  if (targetId === null) return kind;
  const id = shortOf(targetId);
  return name === null ? t('audit.record', { kind, id }) : t('audit.named', { kind, name, id });
}

/** "admin changed user jo (12)" */
export function sentenceOf(t: TFunction<'administration'>, entry: Entry): string {
  const values = {
    who: entry.actorName ?? t('audit.service'),
    what: targetOf(t, entry),
    action: entry.action,
  };
  const key = keyOf(entry);
  return t(`audit.said.${key}`, values);
}

function keyOf({ action, targetType, detail }: Entry): keyof (typeof texts)['audit']['said'] {
  const { status } = detail;
  if (action === 'status-change' && status !== undefined) {
    return status === '0' || status === 0 ? 'enable' : 'disable';
  }
  if (action === 'revoke') return targetType === 'user' ? 'end-sign-in' : 'revoke';
  return ACTIONS.find((one) => one === action) ?? 'other';
}
