import { Alert, Button, Group, MultiSelect, Stack, Switch, Title } from '@mantine/core';
import type { SsoSettingsView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { useAction } from '../ui/action';
import { Failure, messageOf } from '../ui/states';
import styles from './sso.module.css';

const SERVICE_ACCOUNT = 'service';

/** Settings for password sign-in of the tenant and its exceptions. */
export function PasswordLogin() {
  const { t } = useTranslation('sso');
  const { data, error, refetch } = useQuery({
    queryKey: ['sso', 'settings'],
    queryFn: ({ signal }) => plinth.ssoSettings({ signal }),
  });
  return (
    <section className={styles['section']} aria-labelledby="password-login">
      <Title order={2} id="password-login" mb="sm">
        {t('password.title')}
      </Title>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {data && <Settings key={JSON.stringify(data)} settings={data} />}
    </section>
  );
}

function Settings({ settings }: { readonly settings: SsoSettingsView }) {
  const { t } = useTranslation('sso');
  const { may } = useMe();
  const [passwordLogin, setPasswordLogin] = useState(settings.passwordLogin);
  const [chosen, setChosen] = useState(
    settings.breakGlassUsers.map(({ userId }) => String(userId)),
  );
  const [failure, setFailure] = useState<unknown>();
  const users = useQuery({
    queryKey: ['users', 'options'],
    queryFn: ({ signal }) => plinth.userOptions({ signal }),
    enabled: may('system:user:query'),
  });
  const save = useAction(
    () =>
      plinth.ssoChangeSettings({ body: { passwordLogin, breakGlassUserIds: chosen.map(Number) } }),
    {
      done: t('password.saved'),
      changes: [['sso']],
      onFailure: setFailure,
    },
  );
  const readOnly = !may('system:sso:edit');
  const names = new Map(
    settings.breakGlassUsers.map(({ userId, userName }) => [String(userId), userName]),
  );
  for (const { userId, userName, userType } of users.data ?? []) {
    if (userType !== SERVICE_ACCOUNT) names.set(String(userId), userName);
  }
  return (
    <Stack>
      <Switch
        label={t('password.on')}
        description={t('password.onHelp')}
        checked={passwordLogin}
        disabled={readOnly}
        onChange={(event) => setPasswordLogin(event.currentTarget.checked)}
      />
      <MultiSelect
        label={t('password.breakGlass')}
        description={t('password.breakGlassHelp')}
        data={[...names].map(([value, label]) => ({ value, label }))}
        value={chosen}
        disabled={readOnly}
        searchable
        onChange={setChosen}
      />
      {failure !== undefined && (
        <Alert color="red" role="alert">
          {messageOf(failure)}
        </Alert>
      )}
      {!readOnly && (
        <Group>
          <Button
            loading={save.isPending}
            onClick={() => {
              setFailure(undefined);
              save.mutate();
            }}
          >
            {t('password.save')}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
