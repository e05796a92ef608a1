import { Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { ApiError, ConnectionError } from '@plinth/client';
import i18next from 'i18next';
import { messageOf, RequestId } from './failure';

/** Of a notification, and more for each character of it. */
const READING_MS = 4_000;
const CHARACTER_MS = 60;

/** "Saved." and the like. Goes away by itself when there was time to read it. */
export function said(message: string): void {
  notifications.show({
    message,
    autoClose: READING_MS + CHARACTER_MS * message.length,
    withBorder: true,
    closeButtonProps: closeButton(),
  });
}

/** A failed action: the service's message with its request id. Stays until it is closed. */
export function failed(error: unknown): void {
  const lost = error instanceof ConnectionError;
  notifications.show({
    color: 'red',
    autoClose: false,
    withBorder: true,
    closeButtonProps: closeButton(),
    role: 'alert',
    title: i18next.t(lost ? 'ui:connectionLost' : 'ui:failed'),
    message: (
      <Stack gap={4}>
        <Text size="sm">{lost ? i18next.t('ui:connectionLostHint') : messageOf(error)}</Text>
        {error instanceof ApiError && error.requestId && <RequestId id={error.requestId} />}
      </Stack>
    ),
  });
}

function closeButton() {
  return { 'aria-label': i18next.t('ui:close') };
}
