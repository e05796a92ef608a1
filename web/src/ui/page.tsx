import { Anchor, Box, Breadcrumbs, Group, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import type { ReactNode } from 'react';
import styles from './page.module.css';

interface Props {
  readonly title: string;
  /** One sentence, where the page is not obvious. */
  readonly description?: ReactNode;
  /** The primary action, on the right. */
  readonly actions?: ReactNode;
  /** The pages above this one. */
  readonly above?: readonly { readonly title: string; readonly path: string }[];
  /** Reading and forms 720 px, tables 1200 px, or everything there is. */
  readonly width?: 'reading' | 'table' | 'full';
  readonly children: ReactNode;
}

/** The header of a page and its content. The title is also that of the browser's tab. */
export function Page({ title, description, actions, above, width = 'table', children }: Props) {
  useTitle(title);
  return (
    <Box className={styles[width]}>
      {above && (
        <Breadcrumbs className={styles['above']} separatorMargin={6}>
          {above.map((page) => (
            <Anchor
              key={page.path}
              size="sm"
              renderRoot={(props) => <Link to={page.path as never} {...props} />}
            >
              {page.title}
            </Anchor>
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

/** For pages without a header, such as the chat. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === '' ? 'Plinth' : `${title} · Plinth`;
  }, [title]);
}
