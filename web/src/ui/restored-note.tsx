import { Alert, Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';

/** Says that a form has what was typed before a reload or another sign-in. */
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
