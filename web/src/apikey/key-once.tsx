import { Alert, Button, Code, Group, Modal, Stack, Text } from '@mantine/core';
import type { NewApiKeyView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { CopyButton } from '../ui/copy-button';
import styles from './apikey.module.css';

interface Props {
  readonly created: NewApiKeyView;
  readonly onClose: () => void;
}

/** Shows a key once; the service stores only its digest. */
export function KeyOnce({ created: { key }, onClose }: Props) {
  const { t } = useTranslation('apikey');
  const address = `${location.origin}/v1`;
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('once.title')}
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Stack>
        <Text>{t('once.about')}</Text>
        <Group gap={4} wrap="nowrap" className={styles['key']}>
          <Code>{key}</Code>
          <CopyButton value={key} label={t('once.copy')} />
        </Group>
        <Alert color="yellow">{t('once.keep')}</Alert>
        <Text size="sm">{t('once.address')}</Text>
        <Group gap={4} wrap="nowrap" className={styles['key']}>
          <Code>{address}</Code>
          <CopyButton value={address} label={t('once.copyAddress')} />
        </Group>
        <Group justify="flex-end">
          <Button onClick={onClose} data-autofocus>
            {t('once.close')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
