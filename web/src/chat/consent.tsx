import { Button, Code, Group, Paper, Stack, Text, TextInput, Textarea } from '@mantine/core';
import type { MessageView } from '@plinth/client';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useAction } from '../ui/action';
import { Time } from '../ui/time';
import { conversationKey } from './data';
import { decide } from './turns';
import type { Decision } from './turns';

type Call = MessageView['steps'][number]['calls'][number];
type Choice = Decision['decision'];

/** The calls of an answer that wait for its user, or whose outcome only the user can find out. */
export function Consent({ message }: { readonly message: MessageView }) {
  const calls = message.steps.flatMap((step) => step.calls);
  const uncertain = calls.filter(({ state, callId }) => state === 'uncertain' && callId !== null);
  const waiting =
    message.state === 'waiting' ? calls.filter(({ approval }) => approval !== null) : [];
  return (
    <>
      {waiting.length > 0 && <Waiting message={message} calls={waiting} />}
      {uncertain.map((call) => (
        <Uncertain key={call.number} message={message} call={call} />
      ))}
    </>
  );
}

/** All waiting calls are decided at once, so the last decision sends them. */
function Waiting({
  message,
  calls,
}: {
  readonly message: MessageView;
  readonly calls: readonly Call[];
}) {
  const [decisions, setDecisions] = useState<readonly Decision[]>([]);
  const add = (decision: Decision): void => {
    const all = [...decisions.filter(({ callId }) => callId !== decision.callId), decision];
    setDecisions(all);
    if (all.length === calls.length) decide(message, all);
  };
  return (
    <Stack gap="xs" my="xs">
      {calls.map((call) => (
        <WaitingCall
          key={call.number}
          call={call}
          chosen={decisions.find(({ callId }) => callId === call.callId)?.decision}
          onDecide={add}
        />
      ))}
    </Stack>
  );
}

interface WaitingCallProps {
  readonly call: Call;
  readonly chosen: Choice | undefined;
  readonly onDecide: (decision: Decision) => void;
}

function WaitingCall({ call, chosen, onDecide }: WaitingCallProps) {
  const { t } = useTranslation('chat');
  const { approval, callId, name } = call;
  const original = pretty(approval?.argumentsJson ?? '{}');
  const [text, setText] = useState<string>();
  const [reason, setReason] = useState('');
  if (!approval || callId === null) return null;
  const changed = text === undefined || text === original ? undefined : objectIn(text);
  const isInvalid = text !== undefined && text !== original && changed === undefined;
  const isExpired = new Date(approval.expiresAt).getTime() < Date.now();
  const choose = (decision: Choice): void =>
    onDecide({
      callId,
      decision,
      argumentsSha256: approval.argumentsSha256,
      ...(decision !== 'deny' && changed && { arguments: changed }),
      ...(decision === 'deny' && reason.trim() !== '' && { reason: reason.trim() }),
    });
  return (
    <Paper withBorder p="sm" component="section" aria-label={t('consent.title', { name })}>
      <Stack gap="xs">
        <Text fw={600} size="sm">
          {t('consent.title', { name })}
        </Text>
        {text === undefined ? (
          <Code block>{original}</Code>
        ) : (
          <Textarea
            label={t('consent.arguments')}
            autosize
            minRows={3}
            maxRows={16}
            value={text}
            error={isInvalid && t('consent.invalid')}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
          />
        )}
        {isExpired ? (
          <Text size="sm" c="dimmed">
            {t('consent.expired')}
          </Text>
        ) : (
          <>
            <Group gap="xs">
              <Button
                size="xs"
                disabled={isInvalid}
                variant={chosen === 'once' ? 'light' : 'filled'}
                onClick={() => choose('once')}
              >
                {t('consent.once')}
              </Button>
              {approval.grantable && (
                <Button
                  size="xs"
                  variant={chosen === 'chat' ? 'light' : 'default'}
                  disabled={isInvalid}
                  onClick={() => choose('chat')}
                >
                  {t('consent.chat')}
                </Button>
              )}
              <Button size="xs" color="red" variant="light" onClick={() => choose('deny')}>
                {t('consent.deny')}
              </Button>
              {text === undefined && (
                <Button size="xs" variant="subtle" onClick={() => setText(original)}>
                  {t('consent.edit')}
                </Button>
              )}
            </Group>
            <TextInput
              size="xs"
              label={t('consent.reason')}
              maxLength={2_000}
              value={reason}
              onChange={({ currentTarget }) => setReason(currentTarget.value)}
            />
            <Text size="xs" c="dimmed">
              {chosen ? t('consent.others') : t('consent.until')}{' '}
              <Time value={new Date(approval.expiresAt).toISOString()} size="xs" />
            </Text>
          </>
        )}
      </Stack>
    </Paper>
  );
}

function Uncertain({ message, call }: { readonly message: MessageView; readonly call: Call }) {
  const { t } = useTranslation('chat');
  const { turnId, sessionId } = message;
  const { callId, name, arguments: text } = call;
  const resolve = useAction(
    (resolution: 'EXECUTED' | 'NOT_EXECUTED') => {
      const path = { turnId: turnId ?? '', callId: callId ?? '' };
      return plinth.chatResolve({ path, body: { resolution } });
    },
    { changes: [conversationKey(sessionId ?? '')] },
  );
  return (
    <Paper
      withBorder
      p="sm"
      my="xs"
      component="section"
      aria-label={t('consent.unknown', { name })}
    >
      <Stack gap="xs">
        <Text fw={600} size="sm">
          {t('consent.unknown', { name })}
        </Text>
        <Code block>{pretty(text)}</Code>
        <Text size="sm">{t('consent.find')}</Text>
        <Group gap="xs">
          <Button
            size="xs"
            variant="default"
            loading={resolve.isPending}
            onClick={() => resolve.mutate('EXECUTED')}
          >
            {t('consent.executed')}
          </Button>
          <Button
            size="xs"
            variant="default"
            loading={resolve.isPending}
            onClick={() => resolve.mutate('NOT_EXECUTED')}
          >
            {t('consent.notExecuted')}
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

/** The JSON object of the text; undefined for any other text. */
function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
