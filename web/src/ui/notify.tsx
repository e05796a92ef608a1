import { Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { ApiError, ConnectionError } from '@plinth/client';
import i18next from 'i18next';
import { messageOf, RequestId } from './states';

/** Display time of a notification; CHARACTER_MS is added for each character. */
const READING_MS = 4_000;
const CHARACTER_MS = 60;

/** Shows a success message such as "Saved.", which disappears after its reading time. */
export function notifySuccess(message: string): void {
  notifications.show({
    message,
    autoClose: READING_MS + CHARACTER_MS * message.length,
    withBorder: true,
    closeButtonProps: closeButton(),
  });
}

/** Shows the message of a failed action with its request id until it is closed. */
export function notifyFailure(error: unknown): void {
  const isConnectionError = error instanceof ConnectionError;
  notifications.show({
    color: 'red',
    autoClose: false,
    withBorder: true,
    closeButtonProps: closeButton(),
    role: 'alert',
    title: i18next.t(isConnectionError ? 'ui:connectionLost' : 'ui:failed'),
    message: (
      <Stack gap={4}>
        <Text size="sm">
          {isConnectionError ? i18next.t('ui:connectionLostHint') : messageOf(error)}
        </Text>
        {error instanceof ApiError && error.requestId && <RequestId id={error.requestId} />}
      </Stack>
    ),
  });
}

function closeButton() {
  return { 'aria-label': i18next.t('ui:close') };
}
