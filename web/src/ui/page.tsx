import { Box, Breadcrumbs, Group, Text, Title } from '@mantine/core';
import { useEffect } from 'react';
import type { ReactNode } from 'react';
import { TextLink } from './buttons';
import styles from './page.module.css';

export interface PageProps {
  readonly title: string;
  /** One-sentence description, if the page is not self-explanatory. */
  readonly description?: ReactNode;
  /** The primary action, shown on the right. */
  readonly actions?: ReactNode;
  /** Parent pages. */
  readonly above?: undefined | readonly { readonly title: string; readonly path: string }[];
  /** Width of the content: 720 px for text and forms, 1200 px for tables, or the full width. */
  readonly width?: 'reading' | 'table' | 'full';
  readonly children: ReactNode;
}

/** The header and content of a page. Also sets the title of the browser tab. */
export function Page({ title, description, actions, above, width = 'table', children }: PageProps) {
  useTitle(title);
  return (
    <Box className={styles[width]}>
      {above && (
        <Breadcrumbs className={styles['above']} separatorMargin={6}>
          {above.map((page) => (
            <TextLink key={page.path} size="sm" to={page.path as never}>
              {page.title}
            </TextLink>
          ))}
        </Breadcrumbs>
      )}
      <Group justify="space-between" align="flex-start" mb="lg" gap="sm">
        <div className={styles['heading']}>
          <Title order={1}>{title}</Title>
          {description && (
            <Text c="dimmed" maw={720}>
              {description}
            </Text>
          )}
        </div>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Box>
  );
}

/** Sets the title of the browser tab for pages without a header, such as the chat. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === '' ? 'Plinth' : `${title} · Plinth`;
  }, [title]);
}
