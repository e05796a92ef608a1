import { Alert, Badge, Radio, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { ServerToolView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { Diff } from '../ui/diff';
import { FormDrawer } from '../ui/form';
import styles from './mcp.module.css';
import { CONSENTS, isWaiting, PARTS, partsOf, SERVER_CHANGES, textOf } from './server-tools';
import type { Consent, Part, ToolState } from './server-tools';

interface Props {
  readonly serverId: number;
  readonly tool: ServerToolView;
  /** Reason why the tool cannot be changed. */
  readonly readOnly: string | false;
  readonly onClose: () => void;
}

/** A tool as its server describes it, what has changed since it was accepted, and its acceptance and consent. */
export function ToolDrawer({ serverId, tool, readOnly, onClose }: Props) {
  const { t } = useTranslation('mcp');
  const { id, name, state, listedHash } = tool;
  const accepts = isWaiting(tool) && listedHash !== null;
  const form = useForm({ initialValues: { consent: consentOf(tool) } });
  const isTightened = state === 'changed' && tool.consent === 'always' && consentOf(tool) === 'ask';
  const action = state === 'changed' ? 'acceptChange' : 'acceptTool';
  return (
    <FormDrawer
      title={t('tool.title', { name })}
      record={`${id} ${listedHash ?? ''}`}
      size="xl"
      form={form}
      action={t(accepts ? `tool.${action}` : 'tool.save')}
      onSubmit={({ consent }) =>
        plinth.toolServerChangeTools({
          path: { id: serverId },
          body: { tools: [{ id, consent, ...(accepts && { accept: listedHash }) }] },
        })
      }
      done={t(accepts ? 'tool.accepted' : 'tool.saved', { name })}
      changes={SERVER_CHANGES}
      onClose={onClose}
      readOnly={readOnly}
    >
      <StateNote state={state} />
      {state === 'changed' ? <ChangedText tool={tool} /> : <WholeText tool={tool} />}
      <Radio.Group label={t('consent.label')} {...form.getInputProps('consent')}>
        <Stack gap="xs" mt="xs">
          {CONSENTS.map((consent) => (
            <Radio
              key={consent}
              value={consent}
              label={t(`consent.${consent}`)}
              description={t(`consent.${consent}Help`)}
            />
          ))}
        </Stack>
      </Radio.Group>
      {isTightened && <Text size="sm">{t('consent.tightened')}</Text>}
    </FormDrawer>
  );
}

/** The consent that the tool has once it is accepted, as the service chooses it. */
function consentOf({ state, consent, suggestedConsent }: ServerToolView): Consent {
  if (state === 'new') return suggestedConsent;
  return state === 'changed' && consent === 'always' ? suggestedConsent : consent;
}

function StateNote({ state }: { readonly state: ToolState }) {
  const { t } = useTranslation('mcp');
  if (state === 'accepted') {
    return (
      <Text size="sm" c="dimmed">
        {t('tool.agents')}
      </Text>
    );
  }
  const about = { new: 'aboutNew', changed: 'aboutChanged', missing: 'aboutMissing' } as const;
  return <Alert color={state === 'missing' ? 'gray' : 'yellow'}>{t(`tool.${about[state]}`)}</Alert>;
}

function useParts(text: ServerToolView['listed']): Readonly<Record<Part, string>> | undefined {
  const { t } = useTranslation('mcp');
  return text ? partsOf(text, (hint) => t(`hint.${hint}`)) : undefined;
}

function WholeText({ tool }: { readonly tool: ServerToolView }) {
  const { t } = useTranslation('mcp');
  const parts = useParts(textOf(tool) ?? null);
  if (!parts) return null;
  return (
    <>
      <HiddenNote texts={Object.values(parts)} />
      {PARTS.filter((part) => part === 'description' || parts[part] !== '').map((part) => (
        <section key={part} aria-label={t(`parts.${part}`)}>
          <Text size="sm" fw={600} mb={4}>
            {t(`parts.${part}`)}
          </Text>
          <div className={styles['part']}>
            <pre
              className={`${styles['text']} ${part.endsWith('Schema') ? styles['code'] : ''}`}
              tabIndex={0}
              role="region"
              aria-label={t(`parts.${part}`)}
            >
              {parts[part] || t('tool.empty')}
            </pre>
          </div>
        </section>
      ))}
    </>
  );
}

function ChangedText({ tool }: { readonly tool: ServerToolView }) {
  const { t } = useTranslation('mcp');
  const before = useParts(tool.accepted);
  const after = useParts(tool.listed);
  if (!before || !after) return null;
  const changed = PARTS.filter((part) => before[part] !== after[part]);
  const same = PARTS.filter((part) => before[part] === after[part] && after[part] !== '');
  return (
    <>
      <HiddenNote texts={Object.values(after)} />
      <Text fw={600}>{t('tool.changed')}</Text>
      {changed.length === 0 && <Text size="sm">{t('tool.invisibleChange')}</Text>}
      {changed.map((part) => (
        <section key={part} aria-label={t(`parts.${part}`)}>
          <Text size="sm" fw={600} mb={4}>
            {t(`parts.${part}`)}
          </Text>
          <div className={styles['part']}>
            <Diff label={t(`parts.${part}`)} before={before[part]} after={after[part]} wraps />
          </div>
        </section>
      ))}
      {same.length > 0 && (
        <Text size="sm" c="dimmed">
          {t('tool.same', { parts: same.map((part) => t(`parts.${part}`)).join(', ') })}
        </Text>
      )}
    </>
  );
}

/** Warns of characters that a model reads and a person does not see. */
function HiddenNote({ texts }: { readonly texts: readonly string[] }) {
  const { t } = useTranslation('mcp');
  if (!texts.some((text) => text.includes('⟨U+'))) return null;
  return (
    <Alert color="red" role="note">
      {t('tool.hidden')}
    </Alert>
  );
}

const COLOURS = { accepted: 'gray', new: 'indigo', changed: 'yellow', missing: 'gray' } as const;

export function StateBadge({ state }: { readonly state: ToolState }) {
  const { t } = useTranslation('mcp');
  return (
    <Badge
      variant="light"
      color={COLOURS[state]}
      {...(state === 'changed' && { c: 'var(--plinth-warn)' })}
    >
      {t(`state.${state}`)}
    </Badge>
  );
}
