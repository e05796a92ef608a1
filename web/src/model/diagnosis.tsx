import { Alert, Button, Code, Drawer, Group, List, Stack, Text } from '@mantine/core';
import type { DiagnosisStepView, DiagnosisView, ModelView } from '@plinth/client';
import { useMutation } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { Failure } from '../ui/states';
import { duration, number } from '../ui/format';
import { Steps } from '../ui/steps';
import type { Step } from '../ui/steps';
import styles from './model.module.css';

type StepName = DiagnosisStepView['step'];

const STEPS: readonly StepName[] = ['address', 'proxy', 'dns', 'connect', 'tls', 'http', 'answer'];

interface Props {
  readonly model: Pick<ModelView, 'id' | 'modelName'>;
  readonly onClose: () => void;
}

/** Drawer that tests the saved model. */
export function DiagnosisDrawer({ model, onClose }: Props) {
  const { t } = useTranslation('model');
  return (
    <Drawer opened onClose={onClose} title={t('test.title', { name: model.modelName })}>
      <Diagnosis modelId={model.id} />
    </Drawer>
  );
}

/** Runs the test when mounted. Shows each step with its duration and a remedy for failures. */
export function Diagnosis({ modelId }: { readonly modelId: number }) {
  const { t } = useTranslation('model');
  const [running, setRunning] = useState<StepName>();
  const [steps, setSteps] = useState<readonly DiagnosisStepView[]>([]);
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: async (signal: AbortSignal) => {
      setSteps([]);
      for await (const event of plinth.streamModelTest(modelId, {}, { signal })) {
        setRunning(event.event === 'start' ? event.step : undefined);
        if (event.event === 'step') setSteps((before) => [...before, event.step]);
        if (event.event === 'done') return event.diagnosis;
      }
      return undefined;
    },
  });
  const isOver = data !== undefined || error !== null;
  const place = useRef<HTMLDivElement>(null);
  const connection = useRef<AbortController>(undefined);
  const start = useCallback(() => {
    connection.current = new AbortController();
    mutate(connection.current.signal);
  }, [mutate]);
  useEffect(() => {
    start();
    place.current?.scrollIntoView({ block: 'nearest' });
    return () => connection.current?.abort();
  }, [start]);
  return (
    <Stack ref={place} aria-live="polite">
      <Steps
        labels={{ running: t('test.running'), good: t('test.good'), bad: t('test.bad') }}
        steps={stepsOf(data?.steps ?? steps, running).map((name) => {
          const finishedStep = (data?.steps ?? steps).find(({ step }) => step === name);
          return {
            name,
            title: t(`test.step.${name}`),
            state: stateOf(finishedStep, name === running, isOver),
            detail:
              finishedStep?.detail ??
              (isOver ? t(data?.ok ? 'test.notUsed' : 'test.notReached') : undefined),
            ms: finishedStep?.ms,
          };
        })}
      />
      {data && <Result diagnosis={data} />}
      {error ? (
        <Failure error={error} onRetry={start} />
      ) : (
        <Group>
          <Button variant="default" loading={isPending} onClick={start}>
            {t('test.again')}
          </Button>
        </Group>
      )}
    </Stack>
  );
}

/** Steps of the connection: through the proxy, or by DNS and address. */
function stepsOf(
  steps: readonly DiagnosisStepView[],
  running: StepName | undefined,
): readonly StepName[] {
  const isProxied = running === 'proxy' || steps.some(({ step }) => step === 'proxy');
  return STEPS.filter((name) =>
    isProxied ? name !== 'dns' && name !== 'connect' : name !== 'proxy',
  );
}

function stateOf(
  finishedStep: DiagnosisStepView | undefined,
  isRunning: boolean,
  isOver: boolean,
): Step['state'] {
  if (finishedStep) return finishedStep.ok ? 'good' : 'bad';
  if (isOver) return 'skipped';
  return isRunning ? 'running' : 'waiting';
}

function Result({ diagnosis }: { readonly diagnosis: DiagnosisView }) {
  const { t } = useTranslation('model');
  const { ok, advice, url, firstTokenMs, dimension, answerPreview, status, findings } = diagnosis;
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
      {findings && (
        <>
          <Text size="sm" fw={500}>
            {t('test.findings')}
          </Text>
          <List size="sm">
            {findings.map((finding) => (
              <List.Item key={finding}>{finding}</List.Item>
            ))}
          </List>
        </>
      )}
      {answerPreview && (
        <Text size="sm" className={styles['preview']}>
          {answerPreview}
        </Text>
      )}
    </>
  );
}
