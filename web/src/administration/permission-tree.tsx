import {
  ActionIcon,
  Badge,
  Button,
  Checkbox,
  Collapse,
  Group,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { IconChevronDown, IconChevronRight, IconSearch } from '@tabler/icons-react';
import type { PermissionView } from '@plinth/client';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMe } from '../app/me';
import { number } from '../ui/format';
import { allowedBy, groupsOf, groupTitle } from './permissions';
import type { PermissionGroup } from './permissions';
import styles from './permission-tree.module.css';

interface Props {
  readonly permissions: readonly PermissionView[];
  readonly chosen: readonly string[];
  readonly readOnly: boolean;
  /** Whether the user can grant the permission. Defaults to the user's own permissions. */
  readonly canGrant?: (permission: string) => boolean;
  readonly onChange: (chosen: readonly string[]) => void;
}

/** Permissions by group, with a search. Users can only grant or revoke permissions that they have. */
export function PermissionTree({ permissions, chosen, readOnly, canGrant, onChange }: Props) {
  const { may } = useMe();
  const { t } = useTranslation('administration');
  const [search, setSearch] = useState('');
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const searchText = search.trim().toLocaleLowerCase();
  const groups = groupsOf(permissions);
  const visibleGroups = searchText === '' ? groups : groups.flatMap((group) => matching(group));

  function matching(group: PermissionGroup): PermissionGroup[] {
    if (groupTitle(t, group).toLocaleLowerCase().includes(searchText)) return [group];
    const matches = group.permissions.filter(
      (one) =>
        one.permission.toLowerCase().includes(searchText) ||
        allowedBy(t, one).toLocaleLowerCase().includes(searchText),
    );
    return matches.length === 0 ? [] : [{ ...group, permissions: matches }];
  }

  const toggle = (members: readonly string[], on: boolean): void => {
    const rest = chosen.filter((one) => !members.includes(one));
    onChange(on ? [...rest, ...members] : rest);
  };
  const allOpen = groups.every(({ key }) => open.has(key));

  return (
    <Stack gap="sm">
      <Group justify="space-between" gap="xs">
        <TextInput
          type="search"
          aria-label={t('role.searchPermissions')}
          placeholder={t('role.searchPermissions')}
          leftSection={<IconSearch size={16} stroke={1.5} />}
          className={styles['search']}
          value={search}
          onChange={({ currentTarget }) => setSearch(currentTarget.value)}
        />
        <Button
          variant="subtle"
          color="gray"
          onClick={() => setOpen(allOpen ? new Set() : new Set(groups.map(({ key }) => key)))}
        >
          {t(allOpen ? 'role.collapseAll' : 'role.expandAll')}
        </Button>
      </Group>
      <div className={styles['groups']}>
        {visibleGroups.map((group) => (
          <GroupRows
            key={group.key}
            group={group}
            chosen={chosen}
            readOnly={readOnly}
            canGrant={canGrant ?? may}
            open={searchText !== '' || open.has(group.key)}
            onOpen={(on) => {
              const next = new Set(open);
              if (on) next.add(group.key);
              else next.delete(group.key);
              setOpen(next);
            }}
            onToggle={toggle}
          />
        ))}
        {visibleGroups.length === 0 && (
          <Text c="dimmed" p="md" ta="center">
            {t('role.noSuchPermission')}
          </Text>
        )}
      </div>
    </Stack>
  );
}

interface GroupProps {
  readonly group: PermissionGroup;
  readonly chosen: readonly string[];
  readonly readOnly: boolean;
  readonly canGrant: (permission: string) => boolean;
  readonly open: boolean;
  readonly onOpen: (open: boolean) => void;
  readonly onToggle: (members: readonly string[], on: boolean) => void;
}

function GroupRows({ group, chosen, readOnly, canGrant, open, onOpen, onToggle }: GroupProps) {
  const { t } = useTranslation('administration');
  const names = group.permissions.map(({ permission }) => permission);
  const granted = names.filter((name) => chosen.includes(name));
  const grantable = names.filter((name) => canGrant(name));
  const title = groupTitle(t, group);
  const Arrow = open ? IconChevronDown : IconChevronRight;
  const id = `permissions-${group.key}`;
  return (
    <section className={styles['group']} aria-label={title}>
      <Group gap="xs" wrap="nowrap" className={styles['head']}>
        <ActionIcon
          aria-label={t(open ? 'role.collapse' : 'role.expand', { name: title })}
          aria-expanded={open}
          aria-controls={id}
          onClick={() => onOpen(!open)}
        >
          <Arrow size={16} stroke={1.5} />
        </ActionIcon>
        <Checkbox
          className={styles['groupName']}
          label={title}
          checked={granted.length === names.length}
          indeterminate={granted.length > 0 && granted.length < names.length}
          disabled={readOnly || grantable.length === 0}
          onChange={({ currentTarget }) => onToggle(grantable, currentTarget.checked)}
        />
        <Badge
          variant="light"
          color={granted.length > 0 ? 'indigo' : 'gray'}
          className={styles['count']}
        >
          {t('role.someOf', { some: number(granted.length), all: number(names.length) })}
        </Badge>
      </Group>
      <Collapse expanded={open} id={id}>
        <Stack gap="xs" className={styles['members']}>
          {group.permissions.map((one) => {
            const isGrantable = canGrant(one.permission);
            return (
              <Checkbox
                key={one.permission}
                label={allowedBy(t, one)}
                description={
                  isGrantable || readOnly
                    ? one.permission
                    : t('role.notYours', { name: one.permission })
                }
                checked={chosen.includes(one.permission)}
                disabled={readOnly || !isGrantable}
                onChange={({ currentTarget }) => onToggle([one.permission], currentTarget.checked)}
              />
            );
          })}
        </Stack>
      </Collapse>
    </section>
  );
}
