import { Alert, Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';

/** Notes that a form contains input from before a reload or another sign-in. */
export function RestoredNote({ onDiscard }: { readonly onDiscard: () => void }) {
  const { t } = useTranslation('ui');
  return (
    <Alert color="gray" role="status" mb="md">
      {t('kept')}{' '}
      <Anchor component="button" type="button" size="sm" onClick={onDiscard}>
        {t('keptDiscard')}
      </Anchor>
    </Alert>
  );
}
