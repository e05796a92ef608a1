import { Alert, Button } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { withMessage } from '@plinth/client';
import type { KnowledgeView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useAction } from '../ui/action';
import { baseKey } from './base';

interface Props {
  readonly base: KnowledgeView;
  readonly canMove: boolean;
}

/** Warns that the base's vectors are not in the current vector store and offers to move them. */
export function OtherStore({ base, canMove }: Props) {
  const { t } = useTranslation('knowledge');
  const stores = { from: base.vectorStore, to: base.storeAfterReindex };
  const move = useAction(
    () =>
      withMessage(plinth.knowledgeUpdate, {
        body: { id: base.id, revision: base.revision, reindex: true },
      }),
    {
      done: ({ message }) => message,
      changes: [baseKey(base.id), ['knowledge', 'list'], ['documents']],
    },
  );
  return (
    <Alert
      color="yellow"
      mb="md"
      icon={<IconAlertTriangle size={18} stroke={1.5} />}
      title={t('base.otherStore')}
    >
      {t('base.otherStoreHint', stores)}
      {canMove && (
        <div>
          <Button
            mt="sm"
            size="xs"
            variant="default"
            loading={move.isPending}
            onClick={() => move.mutate()}
          >
            {t('base.moveVectors', stores)}
          </Button>
        </div>
      )}
    </Alert>
  );
}
