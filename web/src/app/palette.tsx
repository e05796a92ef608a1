import '@mantine/spotlight/styles.layer.css';
import { useDebouncedValue } from '@mantine/hooks';
import { createSpotlight, Spotlight } from '@mantine/spotlight';
import type { SpotlightActionData, SpotlightActionGroupData } from '@mantine/spotlight';
import {
  agentOptions,
  harnessSessionList,
  knowledgeList,
  modelList,
  sessionList,
} from '@plinth/client';
import {
  IconBook2,
  IconCode,
  IconCpu,
  IconMessage,
  IconMessagePlus,
  IconRobot,
  IconSearch,
  IconUpload,
} from '@tabler/icons-react';
import type { Icon } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMe } from './me';
import { ENTRIES } from './navigation';

const [store, spotlight] = createSpotlight();

/** Records of a kind that are shown at most. */
const MOST = 5;
const PAUSE_MS = 150;

interface Found {
  readonly id: string;
  readonly label: string;
  readonly path: string;
}

/** The records whose name has the text in it, of each kind that the user may list. */
function useRecords(text: string) {
  const { may } = useMe();
  const one = { pageSize: MOST };
  const kinds = {
    agents: {
      allowed: true,
      read: async (signal: AbortSignal): Promise<Found[]> =>
        (await agentOptions({ signal }))
          .filter(({ agentName }) => agentName.toLowerCase().includes(text.toLowerCase()))
          .slice(0, MOST)
          .map(({ id, agentName }) => ({
            id: `agent ${id}`,
            label: agentName,
            path: `/chat?agent=${id}`,
          })),
    },
    chats: {
      allowed: may('system:session:list'),
      read: async (signal: AbortSignal): Promise<Found[]> =>
        (await sessionList({ query: { ...one, sessionTitle: text }, signal })).rows.map(
          ({ id, sessionTitle }) => ({
            id: `chat ${id}`,
            label: sessionTitle,
            path: `/chat/${id}`,
          }),
        ),
    },
    bases: {
      allowed: may('system:info:list'),
      read: async (signal: AbortSignal): Promise<Found[]> =>
        (await knowledgeList({ query: { ...one, name: text }, signal })).rows.map(
          ({ id, name }) => ({ id: `base ${id}`, label: name, path: `/knowledge/${id}` }),
        ),
    },
    models: {
      allowed: may('system:model:list'),
      read: async (signal: AbortSignal): Promise<Found[]> =>
        (await modelList({ query: { ...one, modelName: text }, signal })).rows.map(
          ({ id, modelName, modelDescribe }) => ({
            id: `model ${id}`,
            label: modelDescribe === '' ? modelName : `${modelDescribe} (${modelName})`,
            path: `/models/${id}`,
          }),
        ),
    },
    harness: {
      allowed: may('coding:harness:use'),
      read: async (signal: AbortSignal): Promise<Found[]> =>
        (await harnessSessionList({ query: { pageSize: 100 }, signal }))
          .filter(({ title }) => title.toLowerCase().includes(text.toLowerCase()))
          .slice(0, MOST)
          .map(({ sessionId, title }) => ({
            id: `harness ${sessionId}`,
            label: title,
            path: `/harness/${sessionId}`,
          })),
    },
  };
  return useQuery({
    queryKey: ['palette', text],
    queryFn: async ({ signal }) => {
      const reads = Object.entries(kinds).map(async ([kind, { allowed, read }]) => {
        // A kind that cannot be read now leaves the others.
        const found = allowed ? await read(signal).catch(() => []) : [];
        return [kind, found] as const;
      });
      return Object.fromEntries(await Promise.all(reads)) as Record<keyof typeof kinds, Found[]>;
    },
    enabled: text.length > 0,
    placeholderData: keepPreviousData,
  });
}

const ICONS: Readonly<Record<string, Icon>> = {
  agents: IconRobot,
  chats: IconMessage,
  bases: IconBook2,
  models: IconCpu,
  harness: IconCode,
};

/** The command palette (Ctrl-K): every page, records by name, and what is done with them. Open while it is mounted. */
export default function Palette({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation();
  const { may } = useMe();
  const navigate = useNavigate();
  const [query, setQuery] = useState('');
  const [text] = useDebouncedValue(query.trim(), PAUSE_MS);
  const { data: records } = useRecords(text);
  useEffect(() => spotlight.open(), []);
  const go = (path: string) => (): void => void navigate({ href: path } as never);
  const pages = ENTRIES.filter(({ permissions }) => may(...permissions)).map(
    ({ path, title, icon: PageIcon }): SpotlightActionData => ({
      id: path,
      label: t(`pages.${title}`),
      leftSection: <PageIcon size={18} stroke={1.5} />,
      onClick: go(path),
    }),
  );
  const commands: SpotlightActionData[] = [
    {
      id: 'new chat',
      label: t('palette.newChat'),
      leftSection: <IconMessagePlus size={18} stroke={1.5} />,
      onClick: go('/chat'),
    },
    ...(records?.agents ?? []).map(({ id, label, path }) => ({
      id: `new ${id}`,
      label: t('palette.newChatWith', { name: label }),
      keywords: query,
      leftSection: <IconMessagePlus size={18} stroke={1.5} />,
      onClick: go(path),
    })),
    ...(may('system:attach:add') ? (records?.bases ?? []) : []).map(({ id, label, path }) => ({
      id: `upload ${id}`,
      label: t('palette.uploadTo', { name: label }),
      keywords: query,
      leftSection: <IconUpload size={18} stroke={1.5} />,
      onClick: go(path),
    })),
  ];
  const found = (['chats', 'bases', 'models', 'harness'] as const).map(
    (kind): SpotlightActionGroupData => {
      const KindIcon = ICONS[kind] ?? IconSearch;
      return {
        group: t(`palette.kinds.${kind}`),
        actions: (text === '' ? [] : (records?.[kind] ?? [])).map(({ id, label, path }) => ({
          id,
          label,
          // The service has matched it, perhaps by another spelling.
          keywords: query,
          leftSection: <KindIcon size={18} stroke={1.5} />,
          onClick: go(path),
        })),
      };
    },
  );
  const groups: SpotlightActionGroupData[] = [
    { group: t('palette.pages'), actions: pages },
    { group: t('palette.commands'), actions: commands },
    ...found,
  ];
  return (
    <Spotlight
      store={store}
      actions={groups.filter(({ actions }) => actions.length > 0)}
      query={query}
      onQueryChange={setQuery}
      shortcut={null}
      highlightQuery
      scrollable
      maxHeight={420}
      nothingFound={t('palette.nothing')}
      onSpotlightClose={onClose}
      searchProps={{
        'aria-label': t('palette.placeholder'),
        placeholder: t('palette.placeholder'),
        leftSection: <IconSearch size={18} stroke={1.5} />,
      }}
    />
  );
}
