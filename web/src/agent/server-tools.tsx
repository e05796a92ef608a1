import { Alert, Group, MultiSelect, Stack, Text } from '@mantine/core';
import type { MultiSelectProps } from '@mantine/core';
import type { AgentView, McpToolView, ToolOptionView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { useMe } from '../app/me';
import { LinkButton, TextLink } from '../ui/buttons';

const MAX_TOOLS = 200;

interface Props extends MultiSelectProps {
  readonly agent: AgentView | undefined;
  /** The tools that the user may bind. */
  readonly tools: readonly McpToolView[];
}

/** Selects tools of tool servers, grouped by server. A tool that the agent has and that the user may not bind stays. */
export function ServerToolPicker({ agent, tools, ...input }: Props) {
  const { t } = useTranslation('agent');
  const { may } = useMe();
  const byId = new Map(tools.map((tool) => [String(tool.id), tool]));
  const gone = (agent?.mcpToolIds ?? []).flatMap((id, place) => {
    const value = String(id);
    return byId.has(value) ? [] : [{ value, label: agent?.mcpToolNames[place] ?? value }];
  });
  const groups = [...Map.groupBy(tools, ({ serverName }) => serverName)].map(([group, own]) => ({
    group,
    items: own.map(({ id, name }) => ({ value: String(id), label: name })),
  }));
  const noteOf = (id: string): string | undefined => {
    const tool = byId.get(id);
    if (!tool) return t('serverTools.goneHelp');
    if (tool.state === 'changed') return t('serverTools.changed');
    if (tool.state === 'missing') return t('serverTools.missing');
    return tool.consent === 'ask' ? t('serverTools.ask') : undefined;
  };
  const chosen = input.value ?? [];
  const unusable = chosen.filter((id) => byId.get(id)?.state !== 'accepted');
  if (tools.length === 0 && gone.length === 0) {
    return (
      <div>
        <Text size="sm" fw={500}>
          {t('serverTools.label')}
        </Text>
        <Text size="xs" c="dimmed">
          {t('serverTools.none')}{' '}
          {may('mcp:server:list') && (
            <TextLink size="xs" underline="always" to="/tool-servers">
              {t('serverTools.add')}
            </TextLink>
          )}
        </Text>
      </div>
    );
  }
  return (
    <Stack gap={6}>
      <MultiSelect
        label={t('serverTools.label')}
        description={t('serverTools.help')}
        data={[
          ...groups,
          ...(gone.length > 0 ? [{ group: t('serverTools.gone'), items: gone }] : []),
        ]}
        renderOption={({ option }) => (
          <Stack gap={0}>
            <Text size="sm">{byId.get(option.value)?.toolName ?? option.label}</Text>
            {noteOf(option.value) && (
              <Text size="xs" c="dimmed">
                {noteOf(option.value)}
              </Text>
            )}
          </Stack>
        )}
        searchable
        clearable
        hidePickedOptions
        maxValues={MAX_TOOLS}
        nothingFoundMessage={t('serverTools.nothing')}
        {...input}
      />
      {unusable.map((id) => (
        <Text key={id} size="xs" c="var(--plinth-warn)">
          {byId.get(id)?.name ?? gone.find(({ value }) => value === id)?.label ?? id}: {noteOf(id)}
        </Text>
      ))}
    </Stack>
  );
}

interface NoteProps {
  readonly tools: readonly ToolOptionView[];
  /** Names of the chosen tools. */
  readonly chosen: readonly string[];
}

/** Warns that chosen tools are not offered, because the web is searched by a provider that must be enabled first. */
export function WebNote({ tools, chosen }: NoteProps) {
  const { t } = useTranslation('agent');
  const { may } = useMe();
  const names = tools
    .filter(({ name, offered }) => !offered && chosen.includes(name))
    .map(({ name }) => name);
  if (names.length === 0) return null;
  return (
    <Alert color="yellow" role="note">
      <Group justify="space-between" gap="xs">
        <Text size="sm">{t('web.off', { names: names.join(', ') })}</Text>
        {may('system:search:list') ? (
          <LinkButton size="xs" variant="default" to="/search-providers">
            {t('web.add')}
          </LinkButton>
        ) : (
          <Text size="sm">{t('web.ask')}</Text>
        )}
      </Group>
    </Alert>
  );
}
