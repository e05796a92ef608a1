import { Alert, Anchor, Button, Drawer, Group, Stack, Text, TextInput } from '@mantine/core';
import type { SearchProviderView } from '@plinth/client';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useAction } from '../ui/action';
import { FormFailure } from '../ui/form';
import { duration } from '../ui/format';
import { CHANGES } from './kinds';
import styles from './search.module.css';

interface Props {
  readonly provider: SearchProviderView;
  readonly canEnable: boolean;
  readonly onClose: () => void;
}

/** Searches with a provider and shows what it finds. A provider that works can be enabled here. */
export function TestDrawer({ provider: { id, name, status }, canEnable, onClose }: Props) {
  const { t } = useTranslation('search');
  const { t: ofUi } = useTranslation('ui');
  const [query, setQuery] = useState('example.com');
  const search = useAction(
    (text: string) =>
      plinth.searchProviderTest({ path: { id }, body: { ...(text !== '' && { query: text }) } }),
    { onFailure: () => undefined },
  );
  const enable = useAction(() => plinth.searchProviderUpdate({ body: { id, status: 0 } }), {
    done: ofUi('status.nowEnabled', { name }),
    changes: CHANGES,
    after: onClose,
  });
  const { data, error } = search;
  return (
    <Drawer opened onClose={onClose} title={t('test.title', { name })}>
      <Stack>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            search.mutate(query.trim());
          }}
        >
          <Group align="flex-end" wrap="nowrap" gap="xs">
            <TextInput
              label={t('test.query')}
              className={styles['grow']}
              maxLength={400}
              value={query}
              onChange={({ currentTarget }) => setQuery(currentTarget.value)}
              data-autofocus
            />
            <Button type="submit" loading={search.isPending}>
              {t('test.action')}
            </Button>
          </Group>
        </form>
        <Text size="xs" c="dimmed">
          {t('test.about')}
        </Text>
        <div aria-live="polite">
          {error !== null && <FormFailure error={error} />}
          {data && (
            <Stack gap="sm">
              {data.results.length === 0 ? (
                <Alert color="gray">{t('test.none')}</Alert>
              ) : (
                <Text fw={600}>
                  {t('test.found', {
                    count: data.results.length,
                    time: duration(data.durationMs),
                  })}
                </Text>
              )}
              {data.results.map(({ title, url, snippet, date }) => (
                <div key={url} className={styles['result']}>
                  <Anchor href={url} target="_blank" rel="noreferrer" fw={600} size="sm">
                    {title}
                  </Anchor>
                  <Text size="xs" c="dimmed">
                    {[new URL(url).hostname, date].filter(Boolean).join(' · ')}
                  </Text>
                  <Text size="sm">{snippet}</Text>
                </div>
              ))}
              {status !== 0 && canEnable && (
                <Alert color="green">
                  <Stack gap="xs" align="flex-start">
                    <Text size="sm">{t('test.notEnabled')}</Text>
                    <Button size="xs" loading={enable.isPending} onClick={() => enable.mutate()}>
                      {t('enable')}
                    </Button>
                  </Stack>
                </Alert>
              )}
            </Stack>
          )}
        </div>
      </Stack>
    </Drawer>
  );
}
