import { Button, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { saveFile } from '../ui/download';
import { Failure } from '../ui/states';
import styles from './harness.module.css';

interface Props {
  readonly sessionId: string;
  readonly runId: string;
  readonly artifactId: string;
}

/** Longer output is offered as a download. */
const MAX_SHOWN_CHARS = 200_000;

/** The complete output of a call, loaded on demand. */
export function ArtifactOutput({ sessionId, runId, artifactId }: Props) {
  const { t } = useTranslation('harness');
  const [isRequested, setIsRequested] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: ['harness', 'artifact', artifactId],
    queryFn: async ({ signal }) => {
      const file = await plinth.changeArtifact({ path: { sessionId, runId, artifactId }, signal });
      return { file, text: (await file.text()).slice(0, MAX_SHOWN_CHARS) };
    },
    enabled: isRequested,
    staleTime: Infinity,
  });
  if (!isRequested) {
    return (
      <Button variant="subtle" size="compact-sm" onClick={() => setIsRequested(true)}>
        {t('output.whole')}
      </Button>
    );
  }
  if (error) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton height={64} />;
  return (
    <div>
      <pre className={styles['terminal']} tabIndex={0} aria-label={t('output.label')}>
        {data.text}
      </pre>
      <Button
        variant="subtle"
        size="compact-sm"
        onClick={() => saveFile(data.file, `output-${artifactId}.txt`)}
      >
        {t('output.download')}
      </Button>
    </div>
  );
}
