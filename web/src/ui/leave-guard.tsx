import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useBlocker } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { UseFormReturnType } from '@mantine/form';
import type { SearchParams } from '../app/search-params';
import { session } from '../app/session';
import { usePersistedForm } from './persisted-form';
import { RestoredNote } from './restored-note';

interface Props<Values> {
  readonly form: UseFormReturnType<Values>;
  readonly dirty: boolean;
}

/**
 * Guards the form of a page: asks before unsaved changes are left by a link, another tab of the page, the browser's buttons
 * or its tab. Input is kept across reloads and sign-ins.
 */
export function LeaveGuard<Values>({ form, dirty }: Props<Values>) {
  const { t } = useTranslation('ui');
  const { isRestored, discard } = usePersistedForm(form, 'page');
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) =>
      dirty &&
      // The sign-in has ended, so the input is kept for the next sign-in.
      session.current !== undefined &&
      (current.pathname !== next.pathname || tabOf(current) !== tabOf(next)),
    // Signing in with a provider leaves the page and returns to it.
    enableBeforeUnload: () => dirty && !session.isLapsed,
    withResolver: true,
  });
  if (status !== 'blocked') return isRestored && <RestoredNote onDiscard={discard} />;
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

/** Tabs of a page, selected by the search parameter `tab`. */
function tabOf({ search }: { readonly search: unknown }): string | undefined {
  return (search as SearchParams)['tab'];
}
