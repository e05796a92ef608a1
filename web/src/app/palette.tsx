import '@mantine/spotlight/styles.css';
import { createSpotlight, Spotlight } from '@mantine/spotlight';
import type { SpotlightActionData, SpotlightActionGroupData } from '@mantine/spotlight';
import { IconSearch } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMe } from './me';
import { ENTRIES } from './navigation';

const [store, spotlight] = createSpotlight();

/** The command palette (Ctrl-K): every page, and records by name. It is open while it is mounted. */
export default function Palette({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation();
  const { may } = useMe();
  const navigate = useNavigate();
  const [query, setQuery] = useState('');
  useEffect(() => spotlight.open(), []);
  const pages: SpotlightActionData[] = ENTRIES.filter(({ permissions }) => may(...permissions)).map(
    ({ path, title, icon: Icon }) => ({
      id: path,
      label: t(`pages.${title}`),
      leftSection: <Icon size={18} stroke={1.5} />,
      onClick: () => void navigate({ to: path as never }),
    }),
  );
  const groups: SpotlightActionGroupData[] = [{ group: t('palette.pages'), actions: pages }];
  return (
    <Spotlight
      store={store}
      actions={groups}
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
