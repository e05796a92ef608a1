import { MultiSelect, Select, Switch, TagsInput, Text, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { ApiKeyView, NewApiKeyView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { PermissionTree } from '../administration/permission-tree';
import { compacted, expanded } from '../administration/permissions';
import { useMe } from '../app/me';
import { Failure, RowsSkeleton } from '../ui/states';
import { FormDrawer } from '../ui/form';
import { isChangeable, KEY_LISTS } from './keys';
import type { Scope } from './keys';

interface Props {
  /** The key to edit; undefined to add one. */
  readonly apiKey: ApiKeyView | undefined;
  readonly scope: Scope;
  readonly onCreated: (created: NewApiKeyView) => void;
  readonly onClose: () => void;
}

interface Choice {
  readonly value: string;
  readonly label: string;
}

const API_SURFACES = ['rest', 'v1', 'mcp', 'scim'] as const;

const texts = (ids: readonly number[] | null | undefined): string[] => (ids ?? []).map(String);

/** Time of day at which a key expires on its last day. */
const END_OF_DAY = '23:59:59';

/** The last day on which a key is valid. A key that expires at midnight is last valid the day before. */
function lastDayOf(time: string): string {
  const end = Date.parse(`${time.replace(' ', 'T')}Z`);
  return new Date(end - 1).toISOString().slice(0, 10);
}

/** Choices of a limit. Stored records that can no longer be chosen stay visible by their ids. */
function withStored(choices: readonly Choice[], stored: readonly number[] | null | undefined) {
  const missingIds = texts(stored).filter((id) => !choices.some(({ value }) => value === id));
  return [...choices, ...missingIds.map((id) => ({ value: id, label: id }))];
}

/** Form of an API key. A new key has no permissions; a limit without entries does not apply. */
export function KeyDrawer({ apiKey, scope, onCreated, onClose }: Props) {
  const { t } = useTranslation('apikey');
  const { may } = useMe();
  const canEdit = apiKey
    ? may('system:apikey:edit') && isChangeable(apiKey)
    : may('system:apikey:add');
  const permissions = useQuery({
    queryKey: ['api-keys', 'permissions'],
    queryFn: ({ signal }) => plinth.apiKeyPermissions({ signal }),
  });
  const owners = useQuery({
    queryKey: ['users', 'choices'],
    queryFn: ({ signal }) => plinth.userOptions({ signal }),
    enabled: scope === 'tenant' && !apiKey && may('system:user:query'),
  });
  const choices = useRecords();
  const form = useForm({
    initialValues: valuesOf(apiKey),
    validate: {
      name: (value) => (value.trim() === '' ? t('nameMissing') : null),
      permissions: (value) => (!apiKey && value.length === 0 ? t('permissionsMissing') : null),
      userId: (value) => (scope === 'tenant' && !apiKey && value === '' ? t('ownerMissing') : null),
    },
  });
  const offered = permissions.data ?? [];
  const chosen = expanded(form.values.permissions, offered);
  const save = async ({
    revision,
    name,
    userId,
    lastDay,
    tags,
    strictParameters,
    allowsTools,
    ...limits
  }: typeof form.values) => {
    const before = form.getInitialValues();
    const end = lastDay === '' ? {} : { expireTime: `${lastDay} ${END_OF_DAY}` };
    const ids = {
      modelIds: limits.modelIds.map(Number),
      agentIds: limits.agentIds.map(Number),
      knowledgeIds: limits.knowledgeIds.map(Number),
    };
    const allLimits = { ...ids, addresses: limits.addresses, doors: limits.doors };
    const limited = Object.fromEntries(
      Object.entries(allLimits).filter(([, entries]) => entries.length > 0),
    ) as Partial<typeof allLimits>;
    if (!apiKey) {
      const owner = userId === '' ? {} : { userId: Number(userId) };
      return plinth.apiKeyCreate({
        body: {
          ...limited,
          ...owner,
          ...end,
          ...(tags.length > 0 && { tags }),
          ...(strictParameters && { strictParameters }),
          ...(allowsTools && { toolConsent: 'allow' }),
          name,
          permissions: [...chosen],
        },
      });
    }
    const changed = Object.fromEntries(
      Object.entries(limited).filter(([limit]) => form.isDirty(limit)),
    ) as typeof limited;
    const isLifted = (limit: keyof typeof allLimits): boolean =>
      limits[limit].length === 0 && (apiKey[limit] !== null || before[limit].length > 0);
    const withoutLimits = [
      ...(isLifted('modelIds') ? ['models'] : []),
      ...(isLifted('agentIds') ? ['agents'] : []),
      ...(isLifted('knowledgeIds') ? ['knowledgeBases'] : []),
      ...(isLifted('addresses') ? ['addresses'] : []),
      ...(isLifted('doors') ? ['doors'] : []),
      ...(lastDay === '' && (apiKey.expireTime || before.lastDay !== '') ? ['expireTime'] : []),
    ];
    await plinth.apiKeyUpdate({
      body: {
        ...changed,
        id: apiKey.id,
        revision,
        name,
        ...(form.isDirty('permissions') && {
          permissions: compacted(before.permissions, chosen, offered),
        }),
        ...(form.isDirty('lastDay') && end),
        ...(form.isDirty('tags') && { tags }),
        ...(form.isDirty('strictParameters') && { strictParameters }),
        ...(form.isDirty('allowsTools') && { toolConsent: allowsTools ? 'allow' : 'refuse' }),
        ...(withoutLimits.length > 0 && { withoutLimits }),
      },
    });
    return undefined;
  };
  return (
    <FormDrawer
      title={apiKey ? t('editNamed', { name: apiKey.name }) : t('add')}
      form={form}
      action={t(apiKey ? 'save' : 'add')}
      onSubmit={save}
      changes={KEY_LISTS}
      after={(created) => {
        if (created) onCreated(created);
      }}
      done={apiKey && t('saved')}
      onClose={onClose}
      valuesOf={valuesOf}
      readOnly={!canEdit && t(apiKey?.application ? 'applicationFixed' : 'mayNotEdit')}
    >
      <TextInput
        label={t('name')}
        description={t('nameHelp')}
        maxLength={100}
        required
        data-autofocus={!apiKey || undefined}
        {...form.getInputProps('name')}
      />
      {scope === 'tenant' && !apiKey && (
        <Select
          label={t('owner')}
          description={t('ownerHelp')}
          data={(owners.data ?? []).map(({ userId, userName }) => ({
            value: String(userId),
            label: userName,
          }))}
          searchable
          required
          {...form.getInputProps('userId')}
        />
      )}
      <Title order={3} mt="xs">
        {t('permissions')}
      </Title>
      <Text size="sm" c="dimmed">
        {t('permissionsHelp')}
      </Text>
      {permissions.error && (
        <Failure error={permissions.error} onRetry={() => void permissions.refetch()} />
      )}
      {permissions.isPending && <RowsSkeleton rows={4} />}
      {permissions.data && (
        <PermissionTree
          permissions={offered}
          chosen={chosen}
          readOnly={!canEdit}
          canGrant={(one) => offered.some(({ permission }) => permission === one)}
          onChange={(next) => form.setFieldValue('permissions', next)}
        />
      )}
      {form.errors['permissions'] && (
        <Text size="sm" c="var(--mantine-color-error)" role="alert">
          {form.errors['permissions']}
        </Text>
      )}
      <Title order={3} mt="xs">
        {t('limits')}
      </Title>
      <Text size="sm" c="dimmed">
        {t('limitsHelp')}
      </Text>
      {(['modelIds', 'agentIds', 'knowledgeIds'] as const).map((limit) => (
        <MultiSelect
          key={limit}
          label={t(`limit.${limit}`)}
          placeholder={form.values[limit].length === 0 ? t(`any.${limit}`) : ''}
          data={withStored(choices[limit], apiKey?.[limit])}
          searchable
          {...form.getInputProps(limit)}
        />
      ))}
      <TagsInput
        label={t('limit.addresses')}
        description={t('addressesHelp')}
        placeholder={form.values.addresses.length === 0 ? t('any.addresses') : ''}
        {...form.getInputProps('addresses')}
      />
      <MultiSelect
        label={t('limit.doors')}
        placeholder={form.values.doors.length === 0 ? t('any.doors') : ''}
        data={API_SURFACES.map((value) => ({ value, label: t(`apiSurface.${value}`) }))}
        {...form.getInputProps('doors')}
      />
      <TextInput
        type="date"
        label={t('expires')}
        description={t('expiresHelp')}
        {...form.getInputProps('lastDay')}
      />
      <TagsInput label={t('tags')} description={t('tagsHelp')} {...form.getInputProps('tags')} />
      <Switch
        label={t('strict')}
        description={t('strictHelp')}
        {...form.getInputProps('strictParameters', { type: 'checkbox' })}
      />
      <Switch
        label={t('allowsTools')}
        description={t('allowsToolsHelp')}
        {...form.getInputProps('allowsTools', { type: 'checkbox' })}
      />
    </FormDrawer>
  );
}

/** Loads the records that a key can be limited to and that the user may list. */
function useRecords(): Readonly<Record<'modelIds' | 'agentIds' | 'knowledgeIds', Choice[]>> {
  const { may } = useMe();
  const query = { pageSize: 1_000 };
  const models = useQuery({
    queryKey: ['models', 'all'],
    queryFn: ({ signal }) => plinth.modelList({ query, signal }),
    enabled: may('system:model:list'),
  });
  const agents = useQuery({
    queryKey: ['agents', 'options'],
    queryFn: ({ signal }) => plinth.agentOptions({ signal }),
  });
  const bases = useQuery({
    queryKey: ['knowledge', 'all'],
    queryFn: ({ signal }) => plinth.knowledgeList({ query, signal }),
    enabled: may('system:info:list'),
  });
  const choice = (id: number, label: string): Choice => ({ value: String(id), label });
  return {
    modelIds: (models.data?.rows ?? []).map(({ id, modelName }) => choice(id, modelName)),
    agentIds: (agents.data ?? []).map(({ id, agentName }) => choice(id, agentName)),
    knowledgeIds: (bases.data?.rows ?? []).map(({ id, name }) => choice(id, name)),
  };
}

function valuesOf(apiKey: ApiKeyView | undefined) {
  return {
    revision: apiKey?.revision,
    name: apiKey?.name ?? '',
    userId: '',
    permissions: (apiKey?.permissions ?? []) as readonly string[],
    modelIds: texts(apiKey?.modelIds),
    agentIds: texts(apiKey?.agentIds),
    knowledgeIds: texts(apiKey?.knowledgeIds),
    addresses: [...(apiKey?.addresses ?? [])],
    doors: [...(apiKey?.doors ?? [])] as string[],
    tags: [...(apiKey?.tags ?? [])],
    lastDay: apiKey?.expireTime ? lastDayOf(apiKey.expireTime) : '',
    strictParameters: apiKey?.strictParameters ?? false,
    allowsTools: apiKey?.toolConsent === 'allow',
  };
}
