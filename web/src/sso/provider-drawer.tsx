import {
  ActionIcon,
  Group,
  PasswordInput,
  Select,
  Stack,
  Switch,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import type { SsoDraftView, SsoProviderView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { ActionButton } from '../ui/buttons';
import { FormDrawer } from '../ui/form';
import { Address } from './address';
import styles from './sso.module.css';

interface Props {
  /** The provider to edit; undefined to add one. */
  readonly provider: SsoProviderView | undefined;
  /** URLs of a new provider; undefined if not yet available. */
  readonly draft?: SsoDraftView | undefined;
  readonly onClose: () => void;
}

/** Drawer that adds a provider and shows its future URLs. */
export function NewProviderDrawer({ onClose }: Pick<Props, 'onClose'>) {
  const { may } = useMe();
  const isShown = may('system:sso:query');
  const { data, isLoading } = useQuery({
    queryKey: ['sso', 'draft'],
    queryFn: ({ signal }) => plinth.ssoDraft({ signal }),
    enabled: isShown,
    staleTime: Infinity,
    gcTime: 0,
  });
  return isLoading ? null : <ProviderDrawer provider={undefined} draft={data} onClose={onClose} />;
}

const SCOPES = 'openid profile email offline_access';

export function ProviderDrawer({ provider, draft, onClose }: Props) {
  const { t } = useTranslation('sso');
  const { may } = useMe();
  const canEdit = may(provider ? 'system:sso:edit' : 'system:sso:add');
  const form = useForm({
    initialValues: valuesOf(provider, draft),
    validate: {
      name: (value) => (value.trim() === '' ? t('nameMissing') : null),
      issuer: (value) => (/^https?:\/\/\S+$/.test(value) ? null : t('issuerRule')),
      clientId: (value) => (value.trim() === '' ? t('clientIdMissing') : null),
      scopes: (value) => (/(^|\s)openid(\s|$)/.test(value) ? null : t('scopesRule')),
      roleMapping: {
        value: (value) => (value.trim() === '' ? t('valueMissing') : null),
        roleId: (value) => (value === null ? t('roleMissing') : null),
      },
    },
  });
  const save = async ({
    draft: reserved,
    enabled,
    clientSecret,
    roleMapping,
    ...values
  }: typeof form.values) => {
    const body = {
      ...values,
      status: enabled ? ('0' as const) : ('1' as const),
      roleMapping: roleMapping.map(({ value, roleId }) => ({ value, roleId: Number(roleId) })),
      ...(clientSecret !== '' && { clientSecret }),
    };
    await (provider
      ? plinth.ssoUpdate({ body: { ...body, id: provider.id } })
      : plinth.ssoCreate({ body: { ...body, ...(reserved && { draft: reserved.draft }) } }));
  };
  const addresses = provider ?? form.values.draft;
  return (
    <FormDrawer
      title={provider ? t('editNamed', { name: provider.name }) : t('add')}
      form={form}
      action={t(provider ? 'save' : 'add')}
      onSubmit={save}
      done={t(provider ? 'saved' : 'added')}
      changes={[['sso']]}
      onClose={onClose}
      valuesOf={(current: SsoProviderView) => valuesOf(current)}
      readOnly={!canEdit && t('mayNotEdit')}
    >
      <TextInput
        label={t('name')}
        description={t('nameHelp')}
        maxLength={100}
        required
        data-autofocus={!provider || undefined}
        {...form.getInputProps('name')}
      />
      <TextInput
        label={t('issuer')}
        description={t('issuerHelp')}
        type="url"
        maxLength={500}
        required
        {...form.getInputProps('issuer')}
      />
      <TextInput
        label={t('clientId')}
        autoComplete="off"
        maxLength={255}
        required
        {...form.getInputProps('clientId')}
      />
      <PasswordInput
        label={t('secret')}
        description={t(provider?.hasSecret ? 'secretKept' : 'secretHelp')}
        autoComplete="new-password"
        visibilityToggleButtonProps={{ 'aria-label': t('showSecret') }}
        {...form.getInputProps('clientSecret')}
      />
      <TextInput
        label={t('scopes')}
        description={t('scopesHelp')}
        maxLength={500}
        {...form.getInputProps('scopes')}
      />
      {addresses && (
        <>
          <Address label={t('redirect')} value={addresses.redirectUri} />
          <Address label={t('backchannel')} value={addresses.backchannelLogoutUri} />
        </>
      )}
      <Title order={3} mt="xs">
        {t('users')}
      </Title>
      <Switch
        label={t('enabledLabel')}
        description={t('enabledHelp')}
        {...form.getInputProps('enabled', { type: 'checkbox' })}
      />
      <Switch
        label={t('allowCreate')}
        description={t('allowCreateHelp')}
        {...form.getInputProps('allowCreate', { type: 'checkbox' })}
      />
      <Switch
        label={t('provisioned')}
        description={t('provisionedHelp')}
        disabled={!may('system:scim:provision') && provider?.provisioned !== true}
        {...form.getInputProps('provisioned', { type: 'checkbox' })}
      />
      <TextInput
        label={t('groupsClaim')}
        description={t('groupsClaimHelp')}
        maxLength={200}
        {...form.getInputProps('groupsClaim')}
      />
      <Mapping form={form} />
    </FormDrawer>
  );
}

interface MappingValues {
  readonly roleMapping: readonly { readonly value: string; readonly roleId: string | null }[];
}

interface MappingProps {
  readonly form: {
    readonly values: MappingValues;
    readonly getInputProps: (path: string) => object;
    readonly insertListItem: (
      path: 'roleMapping',
      item: MappingValues['roleMapping'][number],
    ) => void;
    readonly removeListItem: (path: 'roleMapping', index: number) => void;
  };
}

/** Mapping of groups to roles. */
function Mapping({ form }: MappingProps) {
  const { t } = useTranslation('sso');
  const roles = useQuery({
    queryKey: ['roles', 'options'],
    queryFn: ({ signal }) => plinth.roleOptions({ signal }),
  });
  const choices = (roles.data ?? [])
    .filter(({ superAdmin }) => !superAdmin)
    .map(({ roleId, roleName }) => ({ value: String(roleId), label: roleName }));
  return (
    <Stack gap="xs" role="group" aria-label={t('mapping')}>
      <Text size="sm" fw={500}>
        {t('mapping')}
      </Text>
      <Text size="xs" c="dimmed">
        {t('mappingHelp')}
      </Text>
      {form.values.roleMapping.map((_, index) => (
        <Group key={index} gap="xs" wrap="nowrap" align="flex-start">
          <TextInput
            aria-label={t('valueOf', { number: index + 1 })}
            placeholder={t('value')}
            maxLength={255}
            className={styles['grow']}
            {...form.getInputProps(`roleMapping.${index}.value`)}
          />
          <Select
            aria-label={t('roleOf', { number: index + 1 })}
            placeholder={t('role')}
            data={choices}
            searchable
            allowDeselect={false}
            className={styles['grow']}
            {...form.getInputProps(`roleMapping.${index}.roleId`)}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            mt={4}
            aria-label={t('removeMapping', { number: index + 1 })}
            onClick={() => form.removeListItem('roleMapping', index)}
          >
            <IconTrash size={16} stroke={1.5} />
          </ActionIcon>
        </Group>
      ))}
      <Group>
        <ActionButton
          size="xs"
          variant="default"
          icon={IconPlus}
          onClick={() => form.insertListItem('roleMapping', { value: '', roleId: null })}
        >
          {t('addMapping')}
        </ActionButton>
      </Group>
    </Stack>
  );
}

function valuesOf(provider: SsoProviderView | undefined, draft?: SsoDraftView) {
  return {
    revision: provider?.revision,
    draft: draft ?? null,
    name: provider?.name ?? '',
    issuer: provider?.issuer ?? '',
    clientId: provider?.clientId ?? '',
    clientSecret: '',
    scopes: provider?.scopes ?? SCOPES,
    groupsClaim: provider?.groupsClaim ?? '',
    allowCreate: provider?.allowCreate ?? false,
    provisioned: provider?.provisioned ?? false,
    enabled: provider?.status !== '1',
    roleMapping: (provider?.roleMapping ?? []).map(({ value, roleId }) => ({
      value,
      roleId: String(roleId) as string | null,
    })),
  };
}
