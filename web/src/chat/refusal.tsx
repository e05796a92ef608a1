import { Alert } from '@mantine/core';
import { ApiError } from '@plinth/client';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { messageOf, RequestId } from '../ui/states';

/** Explains why the service refused a message. */
export function RefusalNote({
  error,
  onClose,
}: {
  readonly error: unknown;
  readonly onClose: () => void;
}) {
  const { t } = useTranslation('chat');
  return (
    <Alert
      color="red"
      variant="light"
      role="alert"
      withCloseButton
      closeButtonLabel={t('refusal.close')}
      onClose={onClose}
      icon={<IconAlertTriangle size={18} stroke={1.5} />}
      title={t('refusal.title')}
    >
      {messageOf(error)}
      {error instanceof ApiError && error.requestId && <RequestId id={error.requestId} />}
    </Alert>
  );
}
