import { Alert, Button, Divider, Stack, Text, UnstyledButton } from '@mantine/core';
import { startAuthentication } from '@simplewebauthn/browser';
import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/browser';
import { ApiError } from '@plinth/client';
import type { LoginView, SecondStepView } from '@plinth/client';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { messageOf } from '../ui/states';
import { CodeField, Enrolment, isAbandoned, RecoveryCodes } from './enrolment';
import styles from './sign-in.module.css';

/** What the service needs after the right password; undefined for any other failure. */
export function secondStepOf(error: unknown): SecondStepView | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const data = error.data as Partial<SecondStepView> | null;
  return data?.challenge === undefined ? undefined : (data as SecondStepView);
}

interface Props {
  readonly step: SecondStepView;
  readonly onSignedIn: (login: LoginView) => void;
  /** The sign-in starts again, with the reason if there is one. */
  readonly onBack: (failure?: string) => void;
}

/** Second step of a sign-in: proves a second factor, or sets up the first one where a role requires that. */
export function SecondStep({ step, onSignedIn, onBack }: Props) {
  const { t } = useTranslation('sign-in');
  const [enrolled, setEnrolled] = useState<LoginView & { readonly codes: readonly string[] }>();
  if (enrolled) {
    return <RecoveryCodes codes={enrolled.codes} onClose={() => onSignedIn(enrolled)} />;
  }
  return (
    <Stack>
      {step.errorCode === 'SECOND_FACTOR_ENROLMENT_REQUIRED' ? (
        <FirstEnrolment step={step} onEnrolled={setEnrolled} onBack={onBack} />
      ) : (
        <Proof step={step} onSignedIn={onSignedIn} onBack={onBack} />
      )}
      <UnstyledButton className={styles['language']} ta="center" onClick={() => onBack()}>
        {t('second.back')}
      </UnstyledButton>
    </Stack>
  );
}

interface EnrolmentProps extends Pick<Props, 'step' | 'onBack'> {
  readonly onEnrolled: (login: LoginView & { readonly codes: readonly string[] }) => void;
}

function FirstEnrolment({ step: { challenge, kinds }, onEnrolled, onBack }: EnrolmentProps) {
  const { t } = useTranslation('sign-in');
  const orBack = async <Result,>(work: Promise<Result>): Promise<Result> => {
    try {
      return await work;
    } catch (error) {
      if (isExpired(error)) onBack(messageOf(error));
      throw error;
    }
  };
  return (
    <Enrolment
      kinds={kinds}
      begin={(kind) => orBack(plinth.authEnrol({ body: { challenge, kind } }))}
      confirm={async (body) => {
        const { recoveryCodes: codes, ...login } = await orBack(plinth.authConfirm({ body }));
        onEnrolled({ ...login, codes });
      }}
    >
      <Text>{t('second.required')}</Text>
    </Enrolment>
  );
}

function Proof({ step: firstStep, onSignedIn, onBack }: Props) {
  const { t } = useTranslation('sign-in');
  const [step, setStep] = useState(firstStep);
  const [code, setCode] = useState('');
  const [failure, setFailure] = useState<string>();
  const [running, setRunning] = useState(false);
  const { challenge, kinds, webauthn } = step;

  const attempt = async (proof: () => Promise<object>): Promise<void> => {
    setRunning(true);
    setFailure(undefined);
    try {
      onSignedIn(await plinth.authProve({ body: { challenge, ...(await proof()) } }));
    } catch (error) {
      setRunning(false);
      setCode('');
      const next = secondStepOf(error);
      if (next) setStep(next);
      if (isAbandoned(error)) setFailure(t('second.keyAbandoned'));
      else if (next) setFailure(messageOf(error));
      else onBack(messageOf(error));
    }
  };
  const useKey = async (): Promise<object> => {
    const optionsJSON = webauthn as PublicKeyCredentialRequestOptionsJSON & object;
    return { credential: { ...(await startAuthentication({ optionsJSON })) } };
  };
  const hasCodes = kinds.includes('totp') || kinds.includes('recovery');
  return (
    <Stack>
      {webauthn && (
        <Button loading={running} onClick={() => void attempt(useKey)}>
          {t('second.useKey')}
        </Button>
      )}
      {webauthn && hasCodes && <Divider label={t('or')} />}
      {hasCodes && (
        <form
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            void attempt(() => Promise.resolve({ code }));
          }}
        >
          <Stack>
            <CodeField
              label={t(kinds.includes('totp') ? 'second.code' : 'second.recoveryCode')}
              {...(kinds.includes('totp') &&
                kinds.includes('recovery') && { description: t('second.codeHelp') })}
              value={code}
              onChange={setCode}
            />
            <Button
              type="submit"
              variant={webauthn ? 'default' : 'filled'}
              loading={running}
              disabled={code.trim() === ''}
            >
              {t('signIn')}
            </Button>
          </Stack>
        </form>
      )}
      {!webauthn && !hasCodes && <Text>{t('second.noneHere')}</Text>}
      {failure && (
        <Alert color="red" role="alert">
          {failure}
        </Alert>
      )}
    </Stack>
  );
}

function isExpired(error: unknown): boolean {
  const { errorCode } = (error instanceof ApiError && (error.data as { errorCode?: string })) || {};
  return errorCode === 'SECOND_FACTOR_EXPIRED';
}
