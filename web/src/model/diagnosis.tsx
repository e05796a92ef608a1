import { Alert, Button, Code, Drawer, Group, Loader, Stack, Text } from '@mantine/core';
import { IconCircleCheck, IconCircleMinus, IconCircleX } from '@tabler/icons-react';
import { modelTest } from '@plinth/client';
import type { DiagnosisView, ModelView } from '@plinth/client';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Failure } from '../ui/failure';
import { duration, number } from '../ui/format';
import styles from './model.module.css';

const STEPS = ['address', 'dns', 'connect', 'tls', 'http', 'answer'] as const;

interface Props {
  readonly model: Pick<ModelView, 'id' | 'modelName'>;
  readonly onClose: () => void;
}

/** Calls the model as it is saved, in a drawer. */
export function DiagnosisDrawer({ model, onClose }: Props) {
  const { t } = useTranslation('model');
  return (
    <Drawer
      opened
      onClose={onClose}
      title={t('test.title', { name: model.modelName })}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <Diagnosis modelId={model.id} />
    </Drawer>
  );
}

/** Runs the test when it appears and shows the steps with their times and what to do. */
export function Diagnosis({ modelId }: { readonly modelId: number }) {
  const { t } = useTranslation('model');
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => modelTest({ path: { id: modelId }, body: {} }),
  });
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    mutate();
    place.current?.scrollIntoView({ block: 'nearest' });
  }, [mutate]);
  if (error) return <Failure error={error} onRetry={() => mutate()} />;
  return (
    <Stack ref={place} aria-live="polite">
      <ol className={styles['steps']}>
        {STEPS.map((step) => (
          <Step key={step} step={step} diagnosis={data} />
        ))}
      </ol>
      {data && <Result diagnosis={data} />}
      <Group>
        <Button variant="default" loading={isPending} onClick={() => mutate()}>
          {t('test.again')}
        </Button>
      </Group>
    </Stack>
  );
}

interface StepProps {
  readonly step: (typeof STEPS)[number];
  /** Absent while the test runs. */
  readonly diagnosis: DiagnosisView | undefined;
}

function Step({ step, diagnosis }: StepProps) {
  const { t } = useTranslation('model');
  const found = diagnosis?.steps.find((one) => one.step === step);
  return (
    <li className={styles['step']}>
      <StepState found={found} isRunning={!diagnosis} />
      <Stack gap={0} className={styles['stepText']}>
        <Text fw={600}>{t(`test.step.${step}`)}</Text>
        {diagnosis && (
          <Text size="sm" c="dimmed">
            {found?.detail ?? t('test.notReached')}
          </Text>
        )}
      </Stack>
      {found && (
        <Text size="sm" c="dimmed">
          {duration(found.ms)}
        </Text>
      )}
    </li>
  );
}

interface StepStateProps {
  readonly found: DiagnosisView['steps'][number] | undefined;
  readonly isRunning: boolean;
}

function StepState({ found, isRunning }: StepStateProps) {
  const { t } = useTranslation('model');
  if (isRunning) return <Loader size={18} aria-label={t('test.running')} />;
  if (!found) return <IconCircleMinus size={20} stroke={1.5} className={styles['skipped']} />;
  return found.ok ? (
    <IconCircleCheck
      size={20}
      stroke={1.5}
      className={styles['good']}
      aria-label={t('test.good')}
    />
  ) : (
    <IconCircleX size={20} stroke={1.5} className={styles['bad']} aria-label={t('test.bad')} />
  );
}

function Result({ diagnosis }: { readonly diagnosis: DiagnosisView }) {
  const { t } = useTranslation('model');
  const { ok, advice, url, firstTokenMs, dimension, answerPreview, status } = diagnosis;
  return (
    <>
      <Alert
        color={ok ? 'green' : 'red'}
        role={ok ? 'status' : 'alert'}
        title={t(ok ? 'test.usable' : 'test.unusable')}
      >
        {advice}
      </Alert>
      <dl className={styles['facts']}>
        <dt>{t('test.url')}</dt>
        <dd>
          <Code>{url}</Code>
        </dd>
        {status !== undefined && (
          <>
            <dt>{t('test.status')}</dt>
            <dd>{status}</dd>
          </>
        )}
        {firstTokenMs !== undefined && (
          <>
            <dt>{t('test.firstToken')}</dt>
            <dd>{duration(firstTokenMs)}</dd>
          </>
        )}
        {dimension !== undefined && (
          <>
            <dt>{t('dimension')}</dt>
            <dd>{number(dimension)}</dd>
          </>
        )}
      </dl>
      {answerPreview && (
        <Text size="sm" className={styles['preview']}>
          {answerPreview}
        </Text>
      )}
    </>
  );
}
