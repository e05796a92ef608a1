import { Group, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { duration, number } from '../ui/format';
import styles from './home.module.css';

interface Part {
  readonly status: 'up' | 'degraded' | 'down';
  readonly kind?: string;
  readonly latencyMs?: number;
}

const POLL_MS = 15_000;
const PARTS = ['store', 'queue', 'vectorStore', 'files'] as const;
/** Text keys for kinds of parts that are not products. */
const WORDS = new Map([
  ['embedded', 'embedded'],
  ['in process', 'inProcess'],
  ['local', 'local'],
] as const);
const PRODUCTS: Readonly<Record<string, string>> = {
  postgresql: 'PostgreSQL',
  redis: 'Redis',
  qdrant: 'Qdrant',
  s3: 'S3',
};

/** The health response has no envelope. Its status reports a failure and its body names the part that is down. */
async function readHealth(signal: AbortSignal): Promise<Readonly<Record<string, Part>>> {
  const response = await fetch('/health/ready', { signal });
  const { checks } = (await response.json()) as { checks: Readonly<Record<string, Part>> };
  return checks;
}

/** Parts of the service with their state and latency. */
export function Health() {
  const { t } = useTranslation('home');
  const { data } = useQuery({
    queryKey: ['health'],
    queryFn: ({ signal }) => readHealth(signal),
    refetchInterval: POLL_MS,
  });
  if (!data) return null;
  const nameOf = (kind: string): string => {
    const word = WORDS.get(kind as 'embedded');
    return word ? t(`health.kinds.${word}`) : (PRODUCTS[kind] ?? kind);
  };
  return (
    <section aria-labelledby="health">
      <Title order={2} id="health" mb="sm">
        {t('health.title')}
      </Title>
      <ul className={styles['parts']}>
        {Object.entries(data).map(([name, { status, kind, latencyMs }]) => (
          <li key={name} className={styles['part']}>
            <Group gap="xs" wrap="nowrap">
              <span className={styles['light']} data-status={status} />
              <Text fw={600}>
                {PARTS.some((part) => part === name)
                  ? t(`health.parts.${name as (typeof PARTS)[number]}`)
                  : name}
              </Text>
            </Group>
            <Text size="sm" c="dimmed">
              {[
                t(`health.${status}`),
                kind && nameOf(kind),
                latencyMs === undefined
                  ? undefined
                  : latencyMs < 100
                    ? `${number(latencyMs, 1)} ms`
                    : duration(Math.round(latencyMs)),
              ]
                .filter(Boolean)
                .join(' · ')}
            </Text>
          </li>
        ))}
      </ul>
    </section>
  );
}
