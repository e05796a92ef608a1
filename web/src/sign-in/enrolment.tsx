import { Alert, Button, Code, Group, Stack, Text, TextInput } from '@mantine/core';
import { startRegistration } from '@simplewebauthn/browser';
import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/browser';
import { ApiError } from '@plinth/client';
import type { ConfirmationDto, EnrolmentView } from '@plinth/client';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyButton } from '../ui/copy-button';
import { messageOf } from '../ui/states';
import { QrCode } from './qr-code';
import styles from './sign-in.module.css';

type Kind = EnrolmentView['kind'];

interface Props {
  readonly kinds: readonly string[];
  readonly begin: (kind: Kind) => Promise<EnrolmentView>;
  readonly confirm: (confirmation: ConfirmationDto) => Promise<void>;
  /** Shown before the kind is chosen. */
  readonly children?: ReactNode;
}

/** Sets up a second factor: an authenticator app with its first code, or a security key. */
export function Enrolment({ kinds, begin, confirm, children }: Props) {
  const { t } = useTranslation('sign-in');
  const [enrolment, setEnrolment] = useState<EnrolmentView>();
  const [name, setName] = useState('');
  const [code, setCode] = useState('');
  const [failure, setFailure] = useState<string>();
  const [running, setRunning] = useState<Kind>();

  const attempt = async (kind: Kind, work: () => Promise<void>): Promise<void> => {
    setRunning(kind);
    setFailure(undefined);
    try {
      await work();
    } catch (error) {
      setFailure(isAbandoned(error) ? t('second.keyAbandoned') : messageOf(error));
      const challenge = nextChallenge(error);
      if (challenge) setEnrolment((before) => before && { ...before, challenge });
      setCode('');
    } finally {
      setRunning(undefined);
    }
  };
  const start = (kind: Kind): Promise<void> =>
    attempt(kind, async () => {
      const next = await begin(kind);
      if (!next.webauthn) {
        setEnrolment(next);
        return;
      }
      const optionsJSON = next.webauthn as PublicKeyCredentialCreationOptionsJSON & object;
      const credential = { ...(await startRegistration({ optionsJSON })) };
      await confirm({ challenge: next.challenge, credential, name });
    });

  if (!enrolment) {
    return (
      <Stack>
        {children}
        <TextInput
          label={t('second.name')}
          description={t('second.nameHelp')}
          maxLength={100}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        {failure && (
          <Alert color="red" role="alert">
            {failure}
          </Alert>
        )}
        <Button loading={running === 'totp'} onClick={() => void start('totp')}>
          {t('second.addApp')}
        </Button>
        {kinds.includes('webauthn') && (
          <Button
            variant="default"
            loading={running === 'webauthn'}
            onClick={() => void start('webauthn')}
          >
            {t('second.addKey')}
          </Button>
        )}
      </Stack>
    );
  }
  const { challenge, address, secret } = enrolment;
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void attempt('totp', () => confirm({ challenge, code, name }));
      }}
    >
      <Stack>
        <Text>{t('second.scan')}</Text>
        <Group justify="center">
          <QrCode text={address ?? ''} label={t('second.qr')} />
        </Group>
        <Stack gap={4}>
          <Text size="sm" c="dimmed">
            {t('second.orType')}
          </Text>
          <Group gap={4} wrap="nowrap">
            <Code className={styles['secret']}>{secret}</Code>
            <CopyButton value={secret ?? ''} label={t('second.copySecret')} />
          </Group>
        </Stack>
        <CodeField label={t('second.firstCode')} value={code} onChange={setCode} />
        {failure && (
          <Alert color="red" role="alert">
            {failure}
          </Alert>
        )}
        <Button type="submit" loading={running !== undefined} disabled={code.trim() === ''}>
          {t('second.confirm')}
        </Button>
      </Stack>
    </form>
  );
}

interface CodeFieldProps {
  readonly label: string;
  readonly description?: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function CodeField({ onChange, ...field }: CodeFieldProps) {
  return (
    <TextInput
      autoComplete="one-time-code"
      spellCheck={false}
      data-autofocus
      autoFocus
      {...field}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

interface RecoveryProps {
  readonly codes: readonly string[];
  readonly onClose: () => void;
}

/** Shows recovery codes once; the service stores only their digests. */
export function RecoveryCodes({ codes, onClose }: RecoveryProps) {
  const { t } = useTranslation('sign-in');
  return (
    <Stack>
      <Text>{t('second.codesAbout')}</Text>
      <ul className={styles['codes']} aria-label={t('second.codes')}>
        {codes.map((code) => (
          <li key={code}>
            <Code>{code}</Code>
          </li>
        ))}
      </ul>
      <Group gap={4}>
        <CopyButton value={codes.join('\n')} label={t('second.copyCodes')} />
        <Text size="sm">{t('second.copyCodes')}</Text>
      </Group>
      <Alert color="yellow">{t('second.codesOnce')}</Alert>
      <Button onClick={onClose}>{t('second.codesKept')}</Button>
    </Stack>
  );
}

/** Whether the user has closed the dialog of the browser, or it has timed out. */
export function isAbandoned(error: unknown): boolean {
  return error instanceof Error && error.name === 'NotAllowedError';
}

/** The challenge with which the user can try again after a wrong code. */
function nextChallenge(error: unknown): string | null | undefined {
  const { challenge } =
    (error instanceof ApiError && (error.data as { challenge?: string | null })) || {};
  return challenge;
}
