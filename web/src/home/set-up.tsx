import { Button, Group, Progress, Stack, Text, Title, UnstyledButton } from '@mantine/core';
import { IconCircle, IconCircleCheckFilled } from '@tabler/icons-react';
import { useQueries } from '@tanstack/react-query';
import { useLocalStorage } from '@mantine/hooks';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { LinkButton } from '../ui/buttons';
import styles from './home.module.css';

interface Count {
  readonly total: number;
  readonly rows: readonly { readonly id: number | string }[];
}

const ONE = { pageSize: 1 } as const;

/** Set-up steps of an installation, in order. A step is done when a matching record exists. */
const STEPS = [
  {
    name: 'provider',
    permission: 'system:provider:list',
    path: '/providers',
    count: (signal: AbortSignal): Promise<Count> => plinth.providerList({ query: ONE, signal }),
  },
  {
    name: 'model',
    permission: 'system:model:list',
    path: '/models/new',
    count: (signal: AbortSignal): Promise<Count> =>
      plinth.modelList({ query: { ...ONE, category: 'chat' }, signal }),
  },
  {
    name: 'chat',
    permission: 'system:session:list',
    path: '/chat',
    count: (signal: AbortSignal): Promise<Count> => plinth.sessionList({ query: ONE, signal }),
  },
  {
    name: 'knowledge',
    permission: 'system:info:list',
    path: '/knowledge',
    count: (signal: AbortSignal): Promise<Count> => plinth.knowledgeList({ query: ONE, signal }),
  },
  {
    name: 'agent',
    permission: 'agent:agent:list',
    path: '/agents',
    count: (signal: AbortSignal): Promise<Count> => plinth.agentList({ query: ONE, signal }),
  },
] as const;

/** Set-up checklist for users who may configure models, shown until all steps are done or it is hidden. */
export function SetUp() {
  const { t } = useTranslation('home');
  const { may } = useMe();
  const [hidden, setHidden] = useLocalStorage({
    key: 'plinth.set-up-hidden',
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  const steps = STEPS.filter(({ permission }) => may(permission));
  const counts = useQueries({
    queries: steps.map(({ name, count }) => ({
      queryKey: ['home', name],
      queryFn: ({ signal }: { signal: AbortSignal }) => count(signal),
    })),
  });
  if (hidden || !may('system:model:add') || counts.some(({ data }) => !data)) return null;
  const done = steps.map((_, place) => (counts[place]?.data?.total ?? 0) > 0);
  const finished = done.filter(Boolean).length;
  if (finished === steps.length) return null;
  const next = done.indexOf(false);
  // The demo agent answers from its handbook and cites sources.
  const agent = counts[steps.findIndex(({ name }) => name === 'agent')]?.data?.rows[0]?.id;
  const hasModel = done[steps.findIndex(({ name }) => name === 'model')];
  return (
    <section aria-labelledby="set-up" className={styles['card']}>
      <Group justify="space-between" mb="xs">
        <Title order={2} id="set-up">
          {t('setUp.title')}
        </Title>
        <Button variant="subtle" color="gray" size="compact-sm" onClick={() => setHidden(true)}>
          {t('setUp.hide')}
        </Button>
      </Group>
      <Progress
        value={(finished / steps.length) * 100}
        aria-label={t('setUp.progress', { done: finished, all: steps.length })}
        size="sm"
        mb="md"
      />
      <ol className={styles['steps']}>
        {steps.map(({ name, path }, place) => (
          <li key={name} className={styles['step']}>
            {done[place] ? (
              <IconCircleCheckFilled
                size={20}
                className={styles['done']}
                aria-label={t('setUp.done')}
              />
            ) : (
              <IconCircle size={20} stroke={1.5} className={styles['open']} aria-hidden />
            )}
            <Stack gap={0} className={styles['stepText']}>
              <Text fw={600}>{t(`setUp.steps.${name}.title`)}</Text>
              <Text size="sm" c="dimmed">
                {t(`setUp.steps.${name}.why`)}
              </Text>
            </Stack>
            {!done[place] && (
              <LinkButton variant={place === next ? 'filled' : 'default'} to={path as never}>
                {t(`setUp.steps.${name}.action`)}
              </LinkButton>
            )}
          </li>
        ))}
      </ol>
      {hasModel && (
        <UnstyledButton
          className={styles['demo']}
          renderRoot={(props) => (
            <Link
              to="/chat"
              search={{ draft: t('setUp.question'), ...(agent && { agent: String(agent) }) }}
              {...props}
            />
          )}
        >
          {t('setUp.tryDemo')}
        </UnstyledButton>
      )}
    </section>
  );
}
