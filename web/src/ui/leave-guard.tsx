import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useBlocker } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { Address } from '../app/address';

/** Asks before changes that are not saved are left: by a link, another tab of the page, the browser's buttons or its tab. */
export function LeaveGuard({ dirty }: { readonly dirty: boolean }) {
  const { t } = useTranslation('ui');
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) =>
      dirty && (current.pathname !== next.pathname || tabOf(current) !== tabOf(next)),
    enableBeforeUnload: dirty,
    withResolver: true,
  });
  if (status !== 'blocked') return null;
  return (
    <Modal
      opened
      onClose={reset}
      title={t('leave.title')}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <Stack>
        <Text>{t('leave.body')}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={reset} data-autofocus>
            {t('leave.stay')}
          </Button>
          <Button color="red" onClick={proceed}>
            {t('discard')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** The part of a page that the parameter `tab` of its address chooses. */
function tabOf({ search }: { readonly search: unknown }): string | undefined {
  return (search as Address)['tab'];
}
