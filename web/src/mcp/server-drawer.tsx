import {
  ActionIcon,
  Group,
  NumberInput,
  PasswordInput,
  Select,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import type { UseFormReturnType } from '@mantine/form';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import type { ToolServerView } from '@plinth/client';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { ActionButton } from '../ui/buttons';
import { choicesOf } from '../ui/filters';
import { FormDrawer } from '../ui/form';
import styles from './mcp.module.css';
import { SERVER_CHANGES } from './server-tools';

const AUTHS: readonly ToolServerView['auth'][] = ['none', 'token', 'headers'];
const NAME = /^[A-Za-z][\w-]*$/;
const ADDRESS = /^https?:\/\/[^/\s]\S*$/i;

interface Props {
  /** The server to edit; undefined to add one, which is opened and checked then. */
  readonly server?: ToolServerView;
  readonly onClose: () => void;
}

export function ServerDrawer({ server, onClose }: Props) {
  const { t } = useTranslation('mcp');
  const navigate = useNavigate();
  const form = useForm({
    initialValues: valuesOf(server),
    validate: {
      name: (name) => (NAME.test(name.trim()) ? null : t('nameRule')),
      address: (address) => (ADDRESS.test(address.trim()) ? null : t('addressRule')),
      token: (token, values) =>
        values.auth === 'token' && token === '' && !keepsSecret(server, values)
          ? t('tokenMissing')
          : null,
      headers: {
        name: (name) => (name.trim() === '' ? t('headers.nameMissing') : null),
        secret: (secret) => (secret === '' ? t('headers.missing') : null),
      },
    },
  });
  const { auth } = form.values;
  // A server with OAuth keeps its client and accounts, which the API alone changes.
  const auths = server?.auth === 'oauth' ? [...AUTHS, server.auth] : AUTHS;
  const isKept = keepsSecret(server, form.values);
  const chooseAuth = (chosen: string | null): void => {
    const next = auths.find((one) => one === chosen) ?? 'none';
    const needsHeader = next === 'headers' && !keepsSecret(server, { ...form.values, auth: next });
    form.setValues({ auth: next, headers: needsHeader ? [{ name: '', secret: '' }] : [] });
  };
  return (
    <FormDrawer
      title={t(server ? 'edit' : 'add')}
      record={server?.id}
      form={form}
      action={t(server ? 'save' : 'add')}
      onSubmit={(values) => {
        const body = bodyOf(values);
        return server
          ? plinth.toolServerUpdate({
              body: { ...body, id: server.id, revision: values.revision },
            })
          : plinth.toolServerCreate({ body });
      }}
      done={server && t('saved')}
      changes={SERVER_CHANGES}
      after={({ id }) => {
        if (server) return;
        void navigate({
          to: '/tool-servers/$serverId',
          params: { serverId: String(id) },
          search: { check: 'now' },
          ignoreBlocker: true,
        });
      }}
      onClose={onClose}
      valuesOf={valuesOf}
    >
      <TextInput
        label={t('name')}
        description={t('nameHelp')}
        placeholder="crm"
        maxLength={60}
        required
        data-autofocus={!server || undefined}
        {...form.getInputProps('name')}
      />
      <TextInput
        label={t('address')}
        description={t('addressHelp')}
        placeholder="https://crm.example.com/mcp"
        type="url"
        maxLength={2_000}
        required
        {...form.getInputProps('address')}
      />
      <Textarea
        label={t('description')}
        maxLength={500}
        autosize
        minRows={1}
        {...form.getInputProps('description')}
      />
      <Select
        label={t('auth.label')}
        data={choicesOf(auths, (one) => t(`auth.${one}`))}
        allowDeselect={false}
        {...form.getInputProps('auth')}
        onChange={chooseAuth}
      />
      {auth === 'token' && (
        <PasswordInput
          label={t('token')}
          description={t(isKept ? 'tokenKept' : 'tokenHelp')}
          autoComplete="new-password"
          maxLength={10_000}
          required={!isKept}
          visibilityToggleButtonProps={{ 'aria-label': t('showToken') }}
          {...form.getInputProps('token')}
        />
      )}
      {auth === 'headers' && (
        <Headers form={form} kept={isKept ? (server?.headerNames ?? []) : []} />
      )}
      <NumberInput
        label={t('timeout')}
        min={1}
        max={600}
        allowDecimal={false}
        {...form.getInputProps('timeoutSeconds')}
      />
      <Switch
        label={t('enabled')}
        description={t('enabledHelp')}
        {...form.getInputProps('enabled', { type: 'checkbox' })}
      />
    </FormDrawer>
  );
}

interface HeadersProps {
  readonly form: UseFormReturnType<Values>;
  /** Names of the stored headers that stay. */
  readonly kept: readonly string[];
}

function Headers({ form, kept }: HeadersProps) {
  const { t } = useTranslation('mcp');
  return (
    <Stack gap="xs" role="group" aria-label={t('headers.label')}>
      <Text size="sm" fw={500}>
        {t('headers.label')}
      </Text>
      <Text size="xs" c="dimmed">
        {kept.length > 0 ? t('headers.kept', { names: kept.join(', ') }) : t('headers.help')}
      </Text>
      {form.values.headers.map((_, index) => (
        <Group key={index} gap="xs" wrap="nowrap" align="flex-start">
          <TextInput
            aria-label={t('headers.nameOf', { number: index + 1 })}
            placeholder={t('headers.name')}
            maxLength={100}
            autoComplete="off"
            className={styles['grow']}
            {...form.getInputProps(`headers.${index}.name`)}
          />
          <PasswordInput
            aria-label={t('headers.valueOf', { number: index + 1 })}
            placeholder={t('headers.value')}
            maxLength={10_000}
            autoComplete="new-password"
            className={styles['grow']}
            visibilityToggleButtonProps={{ 'aria-label': t('headers.showValue') }}
            {...form.getInputProps(`headers.${index}.secret`)}
          />
          <ActionIcon
            mt={4}
            aria-label={t('headers.remove', { number: index + 1 })}
            onClick={() => form.removeListItem('headers', index)}
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
          onClick={() => form.insertListItem('headers', { name: '', secret: '' })}
        >
          {t('headers.add')}
        </ActionButton>
      </Group>
    </Stack>
  );
}

type Values = ReturnType<typeof valuesOf>;

function valuesOf(server: ToolServerView | undefined) {
  return {
    revision: server?.revision,
    name: server?.name ?? '',
    address: server?.address ?? '',
    description: server?.description ?? '',
    auth: server?.auth ?? ('none' as const),
    token: '',
    /** `secret`, so that the browser does not store it with an unsaved form. */
    headers: [] as { name: string; secret: string }[],
    timeoutSeconds: server?.timeoutSeconds ?? 60,
    enabled: server?.enabled ?? true,
  };
}

/** Whether stored credentials stay: the service sends them to the origin alone that they were entered for. */
function keepsSecret(
  server: ToolServerView | undefined,
  { auth, address }: Pick<Values, 'auth' | 'address'>,
): boolean {
  return (
    server?.auth === auth && URL.parse(server.address)?.origin === URL.parse(address.trim())?.origin
  );
}

function bodyOf({ name, address, description, auth, timeoutSeconds, enabled, ...secrets }: Values) {
  const { token, headers } = secrets;
  return {
    name: name.trim(),
    address: address.trim(),
    description: description.trim(),
    auth,
    timeoutSeconds,
    enabled,
    ...(auth === 'token' && token !== '' && { token }),
    ...(auth === 'headers' &&
      headers.length > 0 && {
        headers: Object.fromEntries(headers.map((header) => [header.name.trim(), header.secret])),
      }),
  };
}
