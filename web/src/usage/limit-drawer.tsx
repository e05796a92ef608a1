import { NumberInput, Select, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { LimitView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { messageOf } from '../ui/states';
import { FormDrawer } from '../ui/form';

type Scope = LimitView['scope'];
type Measure = LimitView['measure'];

interface Props {
  /** The limit to edit; undefined to add one. */
  readonly limit: LimitView | undefined;
  readonly onClose: () => void;
}

const SCOPES = [
  'tenant',
  'user',
  'key',
  'model',
  'group',
  'tag',
] as const satisfies readonly Scope[];
const MEASURES = [
  'requests-minute',
  'tokens-minute',
  'calls-concurrent',
  'tokens-day',
  'tokens-month',
  'cost-day',
  'cost-month',
] as const satisfies readonly Measure[];

/** Option value for all records of a scope. */
const EACH = 'each';

/** Drawer that adds a limit or changes its cap. */
export function LimitDrawer({ limit, onClose }: Props) {
  const { t } = useTranslation('usage');
  const { may } = useMe();
  const canEdit = may(limit ? 'system:limit:edit' : 'system:limit:add');
  const stored = limit && (limit.userId ?? limit.apiKeyId ?? limit.modelId ?? limit.groupId);
  const form = useForm({
    initialValues: {
      scope: limit?.scope ?? 'tenant',
      subject: stored ? String(stored) : EACH,
      tag: limit?.tag ?? '',
      measure: limit?.measure ?? 'tokens-day',
      cap: limit?.cap ?? '',
    },
    validate: {
      cap: (cap, { measure }) => {
        if (typeof cap !== 'number' || cap < 0) return t('limits.capMissing');
        return isCost(measure) || Number.isInteger(cap) ? null : t('limits.capWhole');
      },
    },
  });
  const { scope, measure } = form.values;
  const save = async ({ scope: of, measure: what, ...values }: typeof form.values) => {
    const { subject, tag } = values;
    const cap = Number(values.cap);
    if (limit) {
      await plinth.limitUpdate({ body: { id: limit.id, cap } });
      return;
    }
    const isRecord = of !== 'tenant' && of !== 'tag' && subject !== EACH;
    const named = {
      ...(isRecord && { [FIELDS[of]]: Number(subject) }),
      ...(of === 'tag' && tag.trim() !== '' && { tag: tag.trim() }),
    };
    await plinth.limitCreate({ body: { scope: of, measure: what, cap, ...named } });
  };
  return (
    <FormDrawer
      title={t(limit ? 'limits.edit' : 'limits.add')}
      record={limit?.id}
      form={form}
      action={t(limit ? 'limits.save' : 'limits.add')}
      onSubmit={save}
      done={t(limit ? 'limits.saved' : 'limits.added')}
      changes={[['limits']]}
      onClose={onClose}
      readOnly={!canEdit && t('limits.mayNotEdit')}
    >
      <Select
        label={t('limits.of')}
        description={limit && t('limits.fixed')}
        data={SCOPES.map((value) => ({ value, label: t(`limits.scopes.${value}`) }))}
        allowDeselect={false}
        disabled={limit !== undefined}
        {...form.getInputProps('scope')}
        onChange={(chosen) => form.setValues({ scope: chosen as Scope, subject: EACH })}
      />
      {scope === 'tag' && (
        <TextInput
          label={t('limits.scopes.tag')}
          description={t('limits.tagHelp')}
          maxLength={64}
          disabled={limit !== undefined}
          {...form.getInputProps('tag')}
        />
      )}
      {scope !== 'tenant' && scope !== 'tag' && (
        <SubjectSelect
          key={scope}
          scope={scope}
          stored={limit?.name ?? undefined}
          disabled={limit !== undefined}
          {...form.getInputProps('subject')}
        />
      )}
      <Select
        label={t('limits.measure')}
        data={MEASURES.map((value) => ({ value, label: t(`limits.measures.${value}`) }))}
        allowDeselect={false}
        disabled={limit !== undefined}
        {...form.getInputProps('measure')}
      />
      <NumberInput
        label={t('limits.cap')}
        description={t(helpOf(measure))}
        min={0}
        decimalScale={isCost(measure) ? 6 : 0}
        thousandSeparator=","
        required
        data-autofocus={limit !== undefined || undefined}
        {...form.getInputProps('cap')}
      />
    </FormDrawer>
  );
}

const FIELDS = { user: 'userId', key: 'apiKeyId', model: 'modelId', group: 'groupId' } as const;

function isCost(measure: Measure): boolean {
  return measure.startsWith('cost-');
}

function helpOf(measure: Measure) {
  if (isCost(measure)) return 'limits.costHelp';
  return measure === 'calls-concurrent' ? 'limits.callsHelp' : 'limits.capHelp';
}

interface Choice {
  readonly value: string;
  readonly label: string;
}

const ALL = { pageNum: 1, pageSize: 1_000 } as const;

/** Loads the users, keys, models or groups of the tenant. */
async function choicesOf(
  scope: keyof typeof FIELDS,
  signal: AbortSignal,
): Promise<readonly Choice[]> {
  switch (scope) {
    case 'user':
      return (await plinth.userList({ query: ALL, signal })).rows.map(({ userId, userName }) => ({
        value: String(userId),
        label: userName,
      }));
    case 'key':
      return (await plinth.apiKeyList({ query: { ...ALL, scope: 'tenant' }, signal })).rows.map(
        ({ id, name, userName }) => ({ value: String(id), label: `${name} (${userName})` }),
      );
    case 'model':
      return (await plinth.modelList({ query: ALL, signal })).rows.map(({ id, modelName }) => ({
        value: String(id),
        label: modelName,
      }));
    case 'group':
      return (await plinth.groupList({ query: ALL, signal })).rows.map(
        ({ groupId, displayName }) => ({ value: String(groupId), label: displayName }),
      );
  }
}

interface SubjectProps {
  readonly scope: keyof typeof FIELDS;
  /** Name of the stored subject. */
  readonly stored: string | undefined;
  readonly disabled: boolean;
  readonly value?: string;
  readonly onChange?: (value: string | null) => void;
}

/** Selects all records of a scope or a single one. Users who may not list them can still limit all. */
function SubjectSelect({ scope, stored, disabled, value = EACH, ...rest }: SubjectProps) {
  const { t } = useTranslation('usage');
  const { data, error } = useQuery({
    queryKey: ['limit-subjects', scope],
    queryFn: ({ signal }) => choicesOf(scope, signal),
    enabled: !disabled,
  });
  const storedOption = stored === undefined ? [] : [{ value, label: stored }];
  return (
    <Select
      label={t(`limits.scopes.${scope}`)}
      description={t('limits.subjectHelp')}
      error={error && messageOf(error)}
      data={[{ value: EACH, label: t(`limits.each.${scope}`) }, ...(data ?? storedOption)]}
      value={value}
      allowDeselect={false}
      searchable
      disabled={disabled}
      {...rest}
    />
  );
}
