import { Button, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { saveFile } from '../ui/download';
import { Failure } from '../ui/failure';
import styles from './harness.module.css';

interface Props {
  readonly sessionId: string;
  readonly runId: string;
  readonly artifactId: string;
}

/** More than this is downloaded. */
const SHOWN_CHARACTERS = 200_000;

/** The whole output of a call, loaded when it is asked for. */
export function ArtifactOutput({ sessionId, runId, artifactId }: Props) {
  const { t } = useTranslation('harness');
  const [asked, setAsked] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: ['harness', 'artifact', artifactId],
    queryFn: async ({ signal }) => {
      const file = await plinth.changeArtifact({ path: { sessionId, runId, artifactId }, signal });
      return { file, text: (await file.text()).slice(0, SHOWN_CHARACTERS) };
    },
    enabled: asked,
    staleTime: Infinity,
  });
  if (!asked) {
    return (
      <Button variant="subtle" size="compact-sm" onClick={() => setAsked(true)}>
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
