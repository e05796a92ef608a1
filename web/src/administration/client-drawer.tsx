import { MultiSelect, NumberInput, Switch, Text, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { ClientView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { FormDrawer } from '../ui/form';
import { newPassword, NewPasswordField } from './password';
import { span } from './span';

const GRANTS = ['password', 'email', 'sms', 'social', 'xcx'] as const;
export const CLIENT_SWITCHES = ['inlineThinking', 'inlineSources', 'inlineFailures'] as const;

interface Props {
  /** The client to edit; undefined to add one. */
  readonly client: ClientView | undefined;
  readonly onClose: () => void;
}

export function ClientDrawer({ client, onClose }: Props) {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const canEdit = may(client ? 'system:client:edit' : 'system:client:add');
  const form = useForm({
    initialValues: valuesOf(client),
    validate: {
      clientKey: (value) => (value.trim() === '' ? t('clients.keyMissing') : null),
      clientSecret: (value) => (!client && value.trim() === '' ? t('clients.secretMissing') : null),
      grantTypeList: (value) => (value.length === 0 ? t('clients.grantMissing') : null),
      activeTimeout: (value) => (Number(value) >= 1 ? null : t('clients.secondsRule')),
      timeout: (value) => (Number(value) >= 1 ? null : t('clients.secondsRule')),
    },
  });
  const save = async (values: typeof form.values) => {
    const body = {
      ...values,
      activeTimeout: Number(values.activeTimeout),
      timeout: Number(values.timeout),
    };
    await (client
      ? plinth.clientUpdate({ body: { ...body, id: client.id } })
      : plinth.clientCreate({ body }));
  };
  const { activeTimeout, timeout } = form.values;
  return (
    <FormDrawer
      title={client ? t('clients.editNamed', { name: client.clientKey }) : t('clients.add')}
      form={form}
      action={t(client ? 'clients.save' : 'clients.add')}
      onSubmit={save}
      done={t(client ? 'clients.saved' : 'clients.added')}
      changes={[['clients']]}
      onClose={onClose}
      valuesOf={valuesOf}
      readOnly={!canEdit && t('clients.mayNotEdit')}
    >
      <TextInput
        label={t('clients.key')}
        description={t('clients.keyHelp')}
        maxLength={32}
        required
        data-autofocus={!client || undefined}
        {...form.getInputProps('clientKey')}
      />
      <NewPasswordField
        label={t(client ? 'clients.newSecret' : 'clients.secret')}
        description={t(client ? 'clients.secretKept' : 'clients.secretHelp')}
        onGenerate={(secret) => form.setFieldValue('clientSecret', secret)}
        {...form.getInputProps('clientSecret')}
      />
      <MultiSelect
        label={t('clients.grants')}
        description={t('clients.grantsHelp')}
        data={GRANTS.map((value) => ({ value, label: t(`clients.grant.${value}`) }))}
        {...form.getInputProps('grantTypeList')}
      />
      <TextInput
        label={t('clients.device')}
        description={t('clients.deviceHelp')}
        maxLength={32}
        {...form.getInputProps('deviceType')}
      />
      <Title order={3} mt="xs">
        {t('clients.times')}
      </Title>
      <Text size="sm" c="dimmed">
        {t('clients.timesHelp')}
      </Text>
      <NumberInput
        label={t('clients.idleSeconds')}
        description={t('clients.endsAfterIdle', { time: span(Number(activeTimeout)) || '–' })}
        min={1}
        max={315_360_000}
        allowDecimal={false}
        {...form.getInputProps('activeTimeout')}
      />
      <NumberInput
        label={t('clients.lifeSeconds')}
        description={t('clients.endsAfter', { time: span(Number(timeout)) || '–' })}
        min={1}
        max={315_360_000}
        allowDecimal={false}
        {...form.getInputProps('timeout')}
      />
      <Title order={3} mt="xs">
        {t('clients.inline')}
      </Title>
      <Text size="sm" c="dimmed">
        {t('clients.inlineHelp')}
      </Text>
      {CLIENT_SWITCHES.map((name) => (
        <Switch
          key={name}
          label={t(`clients.switch.${name}`)}
          description={t(`clients.help.${name}`)}
          {...form.getInputProps(name, { type: 'checkbox' })}
        />
      ))}
    </FormDrawer>
  );
}

function valuesOf(client: ClientView | undefined) {
  return {
    revision: client?.revision,
    clientKey: client?.clientKey ?? '',
    clientSecret: client ? '' : newPassword(),
    grantTypeList: client?.grantTypeList ?? ['password'],
    deviceType: client?.deviceType ?? '',
    activeTimeout: (client?.activeTimeout ?? 1_800) as number | string,
    timeout: (client?.timeout ?? 604_800) as number | string,
    inlineThinking: client?.inlineThinking ?? false,
    inlineSources: client?.inlineSources ?? false,
    inlineFailures: client?.inlineFailures ?? false,
  };
}
