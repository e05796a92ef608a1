import '@mantine/spotlight/styles.layer.css';
import { useDebouncedValue } from '@mantine/hooks';
import { createSpotlight, Spotlight } from '@mantine/spotlight';
import type { SpotlightActionData, SpotlightActionGroupData } from '@mantine/spotlight';
import {
  IconBook2,
  IconBrandStackshare,
  IconBuilding,
  IconCode,
  IconCpu,
  IconFileText,
  IconMessage,
  IconMessagePlus,
  IconPlug,
  IconRobot,
  IconSearch,
  IconShieldLock,
  IconUpload,
  IconUser,
  IconUsersGroup,
} from '@tabler/icons-react';
import type { Icon } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from './plinth';
import { useMe } from './me';
import { ENTRIES } from './navigation';

const [store, spotlight] = createSpotlight();

/** Maximum number of records shown for each kind. */
const MAX_RECORDS_PER_KIND = 5;
const PAUSE_MS = 150;

interface FoundRecord {
  readonly id: string;
  readonly label: string;
  readonly path: string;
}

interface Kind {
  readonly icon: Icon;
  /** Permissions of which one is required to list the records. */
  readonly permissions: readonly string[];
  /** Returns records whose names contain the text, at most MAX_RECORDS_PER_KIND. */
  readonly read: (text: string, signal: AbortSignal) => Promise<readonly FoundRecord[]>;
}

/** URL of the list at `path`, filtered by this name. */
const search = (path: string, name: string): string => `${path}?q=${encodeURIComponent(name)}`;
const first = { pageSize: MAX_RECORDS_PER_KIND };

const KINDS = {
  chats: {
    icon: IconMessage,
    permissions: ['system:session:list'],
    read: async (sessionTitle, signal) =>
      (await plinth.sessionList({ query: { ...first, sessionTitle }, signal })).rows.map(
        (chat) => ({
          id: `chat ${chat.id}`,
          label: chat.sessionTitle,
          path: `/chat/${chat.id}`,
        }),
      ),
  },
  bases: {
    icon: IconBook2,
    permissions: ['system:info:list'],
    read: async (text, signal) =>
      (await plinth.knowledgeList({ query: { ...first, name: text }, signal })).rows.map(
        ({ id, name }) => ({ id: `base ${id}`, label: name, path: `/knowledge/${id}` }),
      ),
  },
  documents: {
    icon: IconFileText,
    permissions: ['system:attach:list'],
    read: async (text, signal) =>
      (await plinth.attachList({ query: { ...first, name: text }, signal })).rows.map(
        ({ id, knowledgeId, name }) => ({
          id: `document ${id}`,
          label: name,
          path: `/knowledge/${knowledgeId}/documents/${id}`,
        }),
      ),
  },
  agents: {
    icon: IconRobot,
    permissions: ['agent:agent:list'],
    read: async (text, signal) =>
      (await plinth.agentList({ query: { ...first, agentName: text }, signal })).rows.map(
        ({ id, agentName }) => ({
          id: `agent ${id}`,
          label: agentName,
          path: `/agents/${id}`,
        }),
      ),
  },
  harness: {
    icon: IconCode,
    permissions: ['coding:harness:use'],
    read: async (text, signal) =>
      (await plinth.harnessSessionList({ query: { pageSize: 100 }, signal }))
        .filter(({ title }) => title.toLowerCase().includes(text.toLowerCase()))
        .slice(0, MAX_RECORDS_PER_KIND)
        .map(({ sessionId, title }) => ({
          id: `harness ${sessionId}`,
          label: title,
          path: `/harness/${sessionId}`,
        })),
  },
  models: {
    icon: IconCpu,
    permissions: ['system:model:list'],
    read: async (text, signal) =>
      (await plinth.modelList({ query: { ...first, modelName: text }, signal })).rows.map(
        ({ id, modelName, modelDescribe }) => ({
          id: `model ${id}`,
          label: modelDescribe === '' ? modelName : `${modelDescribe} (${modelName})`,
          path: `/models/${id}`,
        }),
      ),
  },
  providers: {
    icon: IconBrandStackshare,
    permissions: ['system:provider:list'],
    read: async (text, signal) =>
      (await plinth.providerList({ query: { ...first, providerName: text }, signal })).rows.map(
        ({ id, providerName }) => ({
          id: `provider ${id}`,
          label: providerName,
          path: search('/providers', providerName),
        }),
      ),
  },
  toolServers: {
    icon: IconPlug,
    permissions: ['mcp:server:list'],
    read: async (name, signal) =>
      (await plinth.toolServerList({ query: { ...first, name }, signal })).rows.map((server) => ({
        id: `tool server ${server.id}`,
        label: server.name,
        path: `/tool-servers/${server.id}`,
      })),
  },
  users: {
    icon: IconUser,
    permissions: ['system:user:list'],
    read: async (keyword, signal) =>
      (await plinth.userList({ query: { ...first, keyword }, signal })).rows.map(
        ({ userId, userName, nickName }) => ({
          id: `user ${userId}`,
          label: nickName === userName ? userName : `${nickName} (${userName})`,
          path: search('/users', userName),
        }),
      ),
  },
  roles: {
    icon: IconShieldLock,
    permissions: ['system:role:list'],
    read: async (text, signal) =>
      (await plinth.roleList({ query: { ...first, roleName: text }, signal })).rows.map(
        ({ roleId, roleName }) => ({
          id: `role ${roleId}`,
          label: roleName,
          path: `/roles/${roleId}`,
        }),
      ),
  },
  groups: {
    icon: IconUsersGroup,
    permissions: ['system:group:list'],
    read: async (text, signal) =>
      (await plinth.groupList({ query: { ...first, displayName: text }, signal })).rows.map(
        ({ groupId, displayName }) => ({
          id: `group ${groupId}`,
          label: displayName,
          path: `/groups/${groupId}`,
        }),
      ),
  },
  tenants: {
    icon: IconBuilding,
    permissions: ['system:tenant:list'],
    read: async (text, signal) =>
      (await plinth.tenantList({ query: { ...first, companyName: text }, signal })).rows.map(
        ({ tenantId, companyName }) => ({
          id: `tenant ${tenantId}`,
          label: companyName,
          path: search('/tenants', companyName),
        }),
      ),
  },
} satisfies Record<string, Kind>;

const kindNames = Object.keys(KINDS) as (keyof typeof KINDS)[];

/** Searches the agents that the user can chat with. */
async function readChatAgents(text: string, signal: AbortSignal): Promise<readonly FoundRecord[]> {
  return (await plinth.agentOptions({ signal }))
    .filter(({ agentName }) => agentName.toLowerCase().includes(text.toLowerCase()))
    .slice(0, MAX_RECORDS_PER_KIND)
    .map(({ id, agentName }) => ({
      id: `chat with ${id}`,
      label: agentName,
      path: `/chat?agent=${id}`,
    }));
}

/** Searches every kind that the user may list for records by name. A kind that fails to load is omitted. */
function useRecords(text: string) {
  const { may } = useMe();
  return useQuery({
    queryKey: ['palette', text],
    queryFn: async ({ signal }) => {
      const reads = kindNames.map(async (name) => {
        const { permissions, read }: Kind = KINDS[name];
        return [name, may(...permissions) ? await read(text, signal).catch(() => []) : []] as const;
      });
      const chatAgents = readChatAgents(text, signal).catch(() => []);
      const records = Object.fromEntries(await Promise.all(reads)) as Record<
        keyof typeof KINDS,
        readonly FoundRecord[]
      >;
      return { ...records, chatAgents: await chatAgents };
    },
    enabled: text.length > 0,
    placeholderData: keepPreviousData,
  });
}

/** The command palette (Ctrl-K): pages, records by name and actions. It is open while mounted. */
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
    ...(may('system:session:add')
      ? [
          {
            id: 'new chat',
            label: t('palette.newChat'),
            leftSection: <IconMessagePlus size={18} stroke={1.5} />,
            onClick: go('/chat'),
          },
        ]
      : []),
    ...(records?.chatAgents ?? []).map(({ id, label, path }) => ({
      id,
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
  const matchGroups = kindNames.map((name): SpotlightActionGroupData => {
    const KindIcon = KINDS[name].icon;
    return {
      group: t(`palette.kinds.${name}`),
      actions: (text === '' ? [] : (records?.[name] ?? [])).map(({ id, label, path }) => ({
        id,
        label,
        // The service has already matched the record, possibly by another spelling.
        keywords: query,
        leftSection: <KindIcon size={18} stroke={1.5} />,
        onClick: go(path),
      })),
    };
  });
  const groups: SpotlightActionGroupData[] = [
    { group: t('palette.pages'), actions: pages },
    { group: t('palette.commands'), actions: commands },
    ...matchGroups,
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
      // The palette keeps its position regardless of the number of results.
      centered={false}
      overlayProps={{ backgroundOpacity: 0.35 }}
      maxHeight={420}
      nothingFound={t('palette.nothing')}
      onSpotlightClose={onClose}
      attributes={{ content: { 'aria-label': t('palette.placeholder') } }}
      searchProps={{
        'aria-label': t('palette.placeholder'),
        placeholder: t('palette.placeholder'),
        leftSection: <IconSearch size={18} stroke={1.5} />,
      }}
    />
  );
}
