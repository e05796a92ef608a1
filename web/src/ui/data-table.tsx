import {
  ActionIcon,
  Box,
  Button,
  Checkbox,
  Group,
  Menu,
  Pagination,
  Select,
  Table,
  Text,
  Tooltip,
  UnstyledButton,
} from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { IconArrowDown, IconArrowUp, IconColumns, IconDotsVertical } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from '../app/search-params';
import type { SearchParams } from '../app/search-params';
import { Failure } from './failure';
import { ExportButton, FilterBar } from './filter-bar';
import { number } from './format';
import { useAction } from './action';
import { useLastPage } from './last-page';
import { RowsSkeleton } from './skeleton';
import styles from './data-table.module.css';

export interface Column<Row> {
  readonly id: string;
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  /** Field by which the service sorts; absent if not sortable. */
  readonly sort?: string;
  readonly align?: 'right';
  readonly width?: number | string;
  /** Whether the column is hidden by default. */
  readonly optional?: boolean;
}

/** Query parameters of a list at the service. */
export interface ListQuery {
  readonly pageNum: number;
  readonly pageSize: number;
  readonly orderByColumn?: string;
  readonly isAsc?: 'asc' | 'desc';
}

interface Props<Row> {
  /** Key of its queries and of the stored column choice. */
  readonly name: string;
  /** Id of the parent record, such as the knowledge base of documents. Part of the query key. */
  readonly of?: string | number;
  /** Accessible name of the table. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly load: (
    query: ListQuery,
    filters: SearchParams,
    signal: AbortSignal,
  ) => Promise<{ readonly rows: readonly Row[]; readonly total: number }>;
  readonly rowKey: (row: Row) => string | number;
  /** Search parameters that filter the list. */
  readonly filters?: readonly string[];
  /** Filter inputs, shown above the table on the left. */
  readonly toolbar?: ReactNode;
  /** Actions on the whole list, shown above the table on the right. */
  readonly tools?: ReactNode;
  readonly empty: ReactNode;
  readonly onOpen?: (row: Row) => void;
  /** Menu entries of a row. */
  readonly rowActions?: (row: Row) => ReactNode;
  /** Actions on the selected rows. */
  readonly bulkActions?: (rows: readonly Row[], clear: () => void) => ReactNode;
  /** Downloads the filtered rows. */
  readonly onExport?: (query: SearchParams) => Promise<unknown>;
  /** Polling interval in milliseconds; false to disable polling. */
  readonly refetchInterval?: number | false | ((rows: readonly Row[]) => number | false);
}

const SIZES = ['20', '50', '100'];

/**
 * A paginated list of the service as a table: sorting, filters in the URL, selectable columns, selectable rows for
 * bulk actions, export. It scrolls horizontally if it does not fit.
 */
export function DataTable<Row>({
  name,
  of,
  label,
  columns,
  load,
  rowKey,
  filters = [],
  toolbar,
  tools,
  empty,
  onOpen,
  rowActions,
  bulkActions,
  onExport,
  refetchInterval = false,
}: Props<Row>) {
  const { t } = useTranslation('ui');
  const [address, change] = useSearchParams();
  const [chosen, setChosen] = useState<ReadonlySet<string | number>>(new Set());
  const [visibleIds, setVisibleIds] = useLocalStorage<readonly string[]>({
    key: `plinth.columns.${name}`,
    defaultValue: columns.filter(({ optional }) => !optional).map(({ id }) => id),
    getInitialValueInEffect: false,
  });
  const page = Number(address['page'] ?? 1);
  const size = Number(address['size'] ?? SIZES[0]);
  const filterValues = Object.fromEntries(filters.map((filter) => [filter, address[filter]]));
  const order = orderOf(address['sort']);
  const query = { pageNum: page, pageSize: size, ...order };
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: [name, ...(of === undefined ? [] : [of]), 'list', query, filterValues],
    queryFn: ({ signal }) => load(query, filterValues, signal),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      typeof refetchInterval === 'function'
        ? refetchInterval(state.data?.rows ?? [])
        : refetchInterval,
  });
  const total = data?.total ?? 0;
  const isKnown = data !== undefined && !isPlaceholderData;
  const last = useLastPage({ page, size, total, isKnown }, (one) =>
    change({ page: one === 1 ? undefined : String(one) }),
  );
  const exporting = useAction(async () => onExport?.({ ...order, ...filterValues }));

  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />;
  const rows = data?.rows ?? [];
  const filtered = Object.values(filterValues).some((value) => value !== undefined && value !== '');
  if (data && total === 0 && !filtered) return empty;

  const hasChoice = columns.some(({ optional }) => optional);
  // Space for bulk actions is reserved, so that the table does not move on the first selection.
  const hasToolbar = Boolean(toolbar || tools || bulkActions || onExport) || hasChoice;
  const visible = columns.filter(({ id }) => visibleIds.includes(id));
  const selected = rows.filter((row) => chosen.has(rowKey(row)));
  const clear = (): void => setChosen(new Set());
  const toggle = (keys: readonly (string | number)[], on: boolean): void => {
    const next = new Set(chosen);
    for (const key of keys) {
      if (on) next.add(key);
      else next.delete(key);
    }
    setChosen(next);
  };

  return (
    <Box>
      {hasToolbar &&
        (bulkActions && selected.length > 0 ? (
          <Group mb="sm" gap="xs" mih={36}>
            <Text fw={600}>{t('chosenRows', { count: selected.length })}</Text>
            {bulkActions(selected, clear)}
            <Button variant="subtle" color="gray" onClick={clear}>
              {t('clearChoice')}
            </Button>
          </Group>
        ) : (
          <FilterBar
            names={filters}
            tools={
              <>
                {tools}
                {hasChoice && (
                  <ColumnChoice
                    columns={columns}
                    visibleIds={visibleIds}
                    onChange={setVisibleIds}
                  />
                )}
                {onExport && (
                  <ExportButton
                    label={t('export')}
                    loading={exporting.isPending}
                    onClick={() => exporting.mutate()}
                  />
                )}
              </>
            }
          >
            {toolbar}
          </FilterBar>
        ))}
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {!data && <RowsSkeleton />}
      {data && (
        <Table.ScrollContainer
          minWidth={visible.length * 120}
          type="native"
          className={styles['scroll']}
        >
          <Table aria-label={label} aria-busy={isPlaceholderData}>
            <Table.Thead>
              <Table.Tr>
                {bulkActions && (
                  <Table.Th w={36}>
                    <Checkbox
                      size="xs"
                      aria-label={t('chooseAll')}
                      checked={rows.length > 0 && selected.length === rows.length}
                      indeterminate={selected.length > 0 && selected.length < rows.length}
                      onChange={({ currentTarget }) =>
                        toggle(rows.map(rowKey), currentTarget.checked)
                      }
                    />
                  </Table.Th>
                )}
                {visible.map((column) => (
                  <HeadCell
                    key={column.id}
                    column={column}
                    order={order}
                    onSort={(sort) => change({ sort, page: undefined })}
                  />
                ))}
                {rowActions && (
                  <Table.Th w={44}>
                    <span className="only-for-readers">{t('actions')}</span>
                  </Table.Th>
                )}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {rows.map((row) => (
                <Table.Tr
                  key={rowKey(row)}
                  className={onOpen && styles['open']}
                  onClick={(event) => {
                    // Clicks on a link, switch or menu in the row do not open it.
                    const inside = (event.target as Element).closest('a, button, input, label');
                    if (!inside && event.currentTarget.contains(event.target as Node))
                      onOpen?.(row);
                  }}
                >
                  {bulkActions && (
                    <Table.Td>
                      <Checkbox
                        size="xs"
                        aria-label={t('chooseRow')}
                        checked={chosen.has(rowKey(row))}
                        onChange={({ currentTarget }) =>
                          toggle([rowKey(row)], currentTarget.checked)
                        }
                      />
                    </Table.Td>
                  )}
                  {visible.map(({ id, cell, align }, place) => (
                    <Table.Td key={id} align={align}>
                      {place === 0 && onOpen ? (
                        <UnstyledButton className={styles['name']} onClick={() => onOpen(row)}>
                          {cell(row)}
                        </UnstyledButton>
                      ) : (
                        cell(row)
                      )}
                    </Table.Td>
                  ))}
                  {rowActions && (
                    <Table.Td>
                      <Menu>
                        <Menu.Target>
                          <ActionIcon aria-label={t('actions')}>
                            <IconDotsVertical size={16} stroke={1.5} />
                          </ActionIcon>
                        </Menu.Target>
                        <Menu.Dropdown>{rowActions(row)}</Menu.Dropdown>
                      </Menu>
                    </Table.Td>
                  )}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {data && rows.length === 0 && (
        <Text c="dimmed" ta="center" py="xl">
          {t('noMatch')}
        </Text>
      )}
      {total > Number(SIZES[0]) && (
        <Group justify="space-between" mt="md">
          <Group gap="xs">
            <Text size="sm" c="dimmed">
              {t('rowsInAll', { count: total, shown: number(total) })}
            </Text>
            <Select
              aria-label={t('rowsPerPage')}
              data={SIZES}
              value={String(size)}
              allowDeselect={false}
              w={76}
              size="xs"
              onChange={(value) => change({ size: value ?? undefined, page: undefined })}
            />
          </Group>
          <Pagination
            size="sm"
            total={last}
            value={page}
            onChange={(value) => change({ page: value === 1 ? undefined : String(value) })}
            getControlProps={(control) => ({ 'aria-label': t(`pagination.${control}`) })}
            getItemProps={(item) => ({ 'aria-label': t('pageNumber', { page: item }) })}
          />
        </Group>
      )}
    </Box>
  );
}

/** Sort order in the URL: `name` ascending, `-name` descending. */
function orderOf(sort: string | undefined): Pick<ListQuery, 'orderByColumn' | 'isAsc'> {
  if (!sort) return {};
  const descending = sort.startsWith('-');
  return {
    orderByColumn: descending ? sort.slice(1) : sort,
    isAsc: descending ? 'desc' : 'asc',
  };
}

interface HeadCellProps<Row> {
  readonly column: Column<Row>;
  readonly order: Pick<ListQuery, 'orderByColumn' | 'isAsc'>;
  readonly onSort: (sort: string | undefined) => void;
}

function HeadCell<Row>({
  column: { title, sort, align, width },
  order,
  onSort,
}: HeadCellProps<Row>) {
  const sorted = sort !== undefined && order.orderByColumn === sort ? order.isAsc : undefined;
  if (sort === undefined) {
    return (
      <Table.Th w={width} ta={align}>
        {title}
      </Table.Th>
    );
  }
  const next = { asc: `-${sort}`, desc: undefined, none: sort }[sorted ?? 'none'];
  const Arrow = sorted === 'desc' ? IconArrowDown : IconArrowUp;
  return (
    <Table.Th
      w={width}
      ta={align}
      aria-sort={sorted === undefined ? 'none' : sorted === 'asc' ? 'ascending' : 'descending'}
    >
      <UnstyledButton
        className={align === 'right' ? styles['sortRight'] : styles['sort']}
        onClick={() => onSort(next)}
      >
        {title}
        <Arrow size={13} stroke={1.5} className={sorted ? undefined : styles['unsorted']} />
      </UnstyledButton>
    </Table.Th>
  );
}

interface ColumnChoiceProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly visibleIds: readonly string[];
  readonly onChange: (visibleIds: readonly string[]) => void;
}

function ColumnChoice<Row>({ columns, visibleIds, onChange }: ColumnChoiceProps<Row>) {
  const { t } = useTranslation('ui');
  return (
    <Menu closeOnItemClick={false}>
      <Menu.Target>
        <Tooltip label={t('columns')}>
          <ActionIcon size="lg" aria-label={t('columns')}>
            <IconColumns size={18} stroke={1.5} />
          </ActionIcon>
        </Tooltip>
      </Menu.Target>
      <Menu.Dropdown>
        {columns.map(({ id, title }, place) => (
          <Menu.CheckboxItem
            key={id}
            checked={visibleIds.includes(id)}
            disabled={place === 0}
            onChange={(on: boolean) =>
              onChange(on ? [...visibleIds, id] : visibleIds.filter((one) => one !== id))
            }
          >
            {title}
          </Menu.CheckboxItem>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
