import {
  Alert,
  Button,
  Group,
  Image,
  PasswordInput,
  Select,
  Stack,
  TextInput,
  UnstyledButton,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import type { LoginView, SecondStepView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useEffectEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { CLIENT_ID } from '../app/client-id';
import { claimsOf, session } from '../app/session';
import { messageOf } from '../ui/states';
import { SecondStep, secondStepOf } from './second-step';
import styles from './sign-in.module.css';
import { exchangeCode, hasCode, Providers, Refusal } from './sso';

const DEFAULT_TENANT = '000000';

interface Props {
  /** Name of the provider that refused the sign-in. */
  readonly ssoError?: string | undefined;
  readonly tenantId?: string | undefined;
  /** The only user who may sign in, if a page waits for them. */
  readonly userName?: string | undefined;
  /** Path to open after a sign-in with a provider, which leaves the page. */
  readonly returnTo: string;
  readonly onDone: () => void;
}

/** Sign-in form. Shows the tenant field if there are several tenants and the captcha if the service requires it. */
export function SignInForm({ ssoError, tenantId, userName, returnTo, onDone }: Props) {
  const { t } = useTranslation('sign-in');
  const [failure, setFailure] = useState<string>();
  const [running, setRunning] = useState(hasCode);
  const [withPassword, setWithPassword] = useState(false);
  const [step, setStep] = useState<SecondStepView>();
  const tenants = useQuery({
    queryKey: ['sign-in', 'tenants'],
    queryFn: ({ signal }) => plinth.authTenants({ signal }),
  });
  const captcha = useQuery({
    queryKey: ['sign-in', 'captcha'],
    queryFn: ({ signal }) => plinth.authCode({ signal }),
    staleTime: Infinity,
    gcTime: 0,
  });
  const form = useForm({
    initialValues: {
      tenantId: tenantId ?? DEFAULT_TENANT,
      username: userName ?? '',
      password: '',
      code: '',
    },
    validate: {
      username: (value) => (value.trim() === '' ? t('usernameMissing') : null),
      password: (value) => (value === '' ? t('passwordMissing') : null),
    },
  });
  const choices = tenants.data?.voList ?? [];
  const { tenantId: chosen } = form.values;
  const sso = useQuery({
    queryKey: ['sign-in', 'sso', chosen],
    queryFn: ({ signal }) => plinth.ssoAuthChoices({ query: { tenantId: chosen }, signal }),
  });
  const providers = sso.data?.providers ?? [];
  const hasForm = withPassword || providers.length === 0 || sso.data?.passwordLogin !== false;
  const finish = useEffectEvent(async () => {
    if (!hasCode()) return;
    try {
      await exchangeCode();
      onDone();
    } catch (error) {
      setFailure(messageOf(error));
      setRunning(false);
    }
  });
  useEffect(() => void finish(), []);

  const begin = ({ access_token: token, client_id: clientId }: LoginView): void => {
    session.begin({ token, clientId, tenantId: claimsOf(token).tenantId });
    onDone();
  };

  const submit = form.onSubmit(async ({ code, ...given }) => {
    setRunning(true);
    setFailure(undefined);
    try {
      const captchaFields = captcha.data?.captchaEnabled
        ? { code, uuid: captcha.data.uuid ?? '' }
        : {};
      const body = { ...given, ...captchaFields, clientId: CLIENT_ID, grantType: 'password' };
      begin(await plinth.authLogin({ body }));
    } catch (error) {
      const next = secondStepOf(error);
      if (next) setStep(next);
      else setFailure(messageOf(error));
      setRunning(false);
      form.setFieldValue('code', '');
      void captcha.refetch();
    }
  });

  if (step) {
    const back = (reason?: string): void => {
      setStep(undefined);
      setFailure(reason);
    };
    return <SecondStep step={step} onSignedIn={begin} onBack={back} />;
  }
  return (
    <>
      {ssoError && !failure && <Refusal reason={ssoError} />}
      <form onSubmit={submit} noValidate>
        <Stack>
          {userName === undefined && choices.length > 1 && (
            <Select
              label={t('tenant')}
              data={choices.map((one) => ({ value: one.tenantId, label: one.companyName }))}
              searchable
              allowDeselect={false}
              {...form.getInputProps('tenantId')}
            />
          )}
          {hasForm && (
            <>
              <TextInput
                label={t('username')}
                autoComplete="username"
                autoFocus={userName === undefined}
                readOnly={userName !== undefined}
                {...form.getInputProps('username')}
              />
              <PasswordInput
                label={t('password')}
                autoComplete="current-password"
                data-autofocus={userName === undefined ? undefined : true}
                visibilityToggleButtonProps={{ 'aria-label': t('showPassword') }}
                {...form.getInputProps('password')}
              />
              {captcha.data?.captchaEnabled && (
                <Group align="flex-end" gap="sm" wrap="nowrap">
                  <TextInput
                    label={t('captcha')}
                    autoComplete="off"
                    className={styles['grow']}
                    {...form.getInputProps('code')}
                  />
                  <UnstyledButton
                    aria-label={t('newCaptcha')}
                    onClick={() => void captcha.refetch()}
                  >
                    <Image
                      src={`data:image/png;base64,${captcha.data.img ?? ''}`}
                      alt={t('captchaPicture')}
                      h={36}
                      w="auto"
                      radius="sm"
                    />
                  </UnstyledButton>
                </Group>
              )}
            </>
          )}
          {failure && (
            <Alert color="red" role="alert">
              {failure}
            </Alert>
          )}
          {hasForm && (
            <Button type="submit" loading={running} fullWidth>
              {t('signIn')}
            </Button>
          )}
        </Stack>
      </form>
      <Providers providers={providers} returnTo={returnTo} divided={hasForm} />
      {!hasForm && (
        <Group justify="center" mt="md">
          <UnstyledButton className={styles['language']} onClick={() => setWithPassword(true)}>
            {t('usePassword')}
          </UnstyledButton>
        </Group>
      )}
    </>
  );
}
