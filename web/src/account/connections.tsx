import { Badge, Button, Group, PasswordInput, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { SsoConnectionView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useSearchParams } from '../app/search-params';
import { Refusal } from '../sign-in/sso';
import { FormDrawer } from '../ui/form';

/** Sign-in providers of the tenant. */
export function useConnections(): readonly SsoConnectionView[] {
  const { data = [] } = useQuery({
    queryKey: ['sso', 'connections'],
    queryFn: ({ signal }) => plinth.ssoAuthConnections({ signal }),
  });
  return data;
}

/** Lists the providers that can sign the user in. Connecting another one redirects to it and back, like a sign-in. */
export function Connections({
  connections,
}: {
  readonly connections: ReturnType<typeof useConnections>;
}) {
  const { t } = useTranslation('account');
  const [{ ssoError }] = useSearchParams();
  const [changed, setChanged] = useState<SsoConnectionView>();
  const close = (): void => setChanged(undefined);
  const isOnly = connections.filter(({ connected }) => connected).length === 1;
  return (
    <Stack gap="sm">
      {ssoError && <Refusal reason={ssoError} />}
      <Text c="dimmed">{t('connections.about')}</Text>
      {connections.map((one) => (
        <Group key={one.id} justify="space-between">
          <Group gap="xs">
            <Text>{one.name}</Text>
            {one.connected && <Badge variant="light">{t('connections.connected')}</Badge>}
          </Group>
          <Button variant="default" size="xs" onClick={() => setChanged(one)}>
            {t(one.connected ? 'connections.disconnect' : 'connections.connect', {
              name: one.name,
            })}
          </Button>
        </Group>
      ))}
      {changed?.connected === false && <Connect to={changed} onClose={close} />}
      {changed?.connected && <Disconnect from={changed} isOnly={isOnly} onClose={close} />}
    </Stack>
  );
}

/** The connection outlives the sign-in, so the service asks for the password. */
function Connect({
  to: { id: provider, name },
  onClose,
}: {
  readonly to: SsoConnectionView;
  readonly onClose: () => void;
}) {
  const { t } = useTranslation('account');
  const form = usePasswordForm(true);
  const connect = async ({ password }: typeof form.values): Promise<void> => {
    const body = { password, returnTo: '/account' };
    const { address } = await plinth.ssoAuthConnect({ path: { provider }, body });
    location.assign(address);
  };
  return (
    <FormDrawer
      title={t('connections.connect', { name })}
      form={form}
      action={t('connections.continue', { name })}
      onSubmit={connect}
      onClose={onClose}
    >
      <Text>{t('connections.connectBody', { name })}</Text>
      <PresentPassword {...form.getInputProps('password')} />
    </FormDrawer>
  );
}

/** If this is the only connection, the user must know their password to sign in afterwards. */
function Disconnect({
  from: { id: provider, name },
  isOnly,
  onClose,
}: {
  readonly from: SsoConnectionView;
  readonly isOnly: boolean;
  readonly onClose: () => void;
}) {
  const { t } = useTranslation('account');
  const form = usePasswordForm(isOnly);
  const disconnect = ({ password }: typeof form.values) =>
    plinth.ssoAuthDisconnect({ path: { provider }, body: isOnly ? { password } : {} });
  return (
    <FormDrawer
      title={t('connections.disconnect', { name })}
      form={form}
      action={t('connections.disconnect', { name })}
      onSubmit={disconnect}
      done={t('connections.disconnected', { name })}
      changes={[['sso', 'connections'], ['sign-ins']]}
      onClose={onClose}
    >
      <Text>{t('connections.disconnectBody', { name })}</Text>
      {isOnly && (
        <>
          <Text>{t('connections.passwordRemains')}</Text>
          <PresentPassword {...form.getInputProps('password')} />
        </>
      )}
    </FormDrawer>
  );
}

function usePasswordForm(isNeeded: boolean) {
  const { t } = useTranslation('account');
  return useForm({
    initialValues: { password: '' },
    validate: {
      password: (value) => (isNeeded && value === '' ? t('password.oldMissing') : null),
    },
  });
}

function PresentPassword(props: object) {
  const { t } = useTranslation('account');
  return (
    <PasswordInput
      label={t('password.old')}
      autoComplete="current-password"
      visibilityToggleButtonProps={{ 'aria-label': t('password.show') }}
      data-autofocus
      {...props}
    />
  );
}
