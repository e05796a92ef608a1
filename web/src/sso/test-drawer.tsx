import { Alert, Button, Drawer, Group, Loader, Stack, Text } from '@mantine/core';
import { IconCircleCheck, IconCircleX } from '@tabler/icons-react';
import { ssoTest } from '@plinth/client';
import type { SsoDiagnosisView, SsoProviderView } from '@plinth/client';
import { useMutation } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { Failure } from '../ui/failure';
import { duration } from '../ui/format';
import styles from './sso.module.css';

interface Props {
  readonly provider: Pick<SsoProviderView, 'id' | 'name'>;
  readonly onClose: () => void;
}

/** Calls the provider as it is saved, when it appears, and shows the steps. */
export function TestDrawer({ provider, onClose }: Props) {
  const { t } = useTranslation('sso');
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => ssoTest({ path: { id: provider.id } }),
  });
  useEffect(() => mutate(), [mutate]);
  return (
    <Drawer
      opened
      onClose={onClose}
      title={t('test.title', { name: provider.name })}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <Stack aria-live="polite">
        {error && <Failure error={error} onRetry={() => mutate()} />}
        {!error && !data && <Loader size={20} aria-label={t('test.running')} />}
        {data && (
          <>
            <ol className={styles['steps']}>
              {data.steps.map((step) => (
                <Step key={step.step} step={step} />
              ))}
            </ol>
            <Alert color={data.ok ? 'green' : 'red'} role={data.ok ? 'status' : 'alert'}>
              {data.advice}
            </Alert>
          </>
        )}
        <Group>
          <Button variant="default" loading={isPending} onClick={() => mutate()}>
            {t('test.again')}
          </Button>
        </Group>
      </Stack>
    </Drawer>
  );
}

function Step({
  step: { step, ok, ms, detail },
}: {
  readonly step: SsoDiagnosisView['steps'][number];
}) {
  const { t } = useTranslation('sso');
  return (
    <li className={styles['step']}>
      {ok ? (
        <IconCircleCheck
          size={20}
          stroke={1.5}
          className={styles['good']}
          aria-label={t('test.good')}
        />
      ) : (
        <IconCircleX size={20} stroke={1.5} className={styles['bad']} aria-label={t('test.bad')} />
      )}
      <Stack gap={0} className={styles['stepText']}>
        <Text fw={600}>{t(`test.step.${step}`)}</Text>
        <Text size="sm" c="dimmed">
          {detail}
        </Text>
      </Stack>
      <Text size="sm" c="dimmed">
        {duration(ms)}
      </Text>
    </li>
  );
}
