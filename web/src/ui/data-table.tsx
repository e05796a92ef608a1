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
  UnstyledButton,
} from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import {
  IconArrowDown,
  IconArrowUp,
  IconColumns,
  IconDotsVertical,
  IconDownload,
  IconPencil,
  IconTrash,
} from '@tabler/icons-react';
import type { Icon } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { QueryKey } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from '../app/search-params';
import type { SearchParams } from '../app/search-params';
import { IconButton } from './buttons';
import { useAction } from './action';
import { confirmDestruction } from './confirm';
import { saveFile } from './download';
import { Failure, RowsSkeleton } from './states';
import { FilterBar } from './filters';
import type { Filter } from './filters';
import { bytes, number } from './format';
import { useLastPage } from './last-page';
import { MenuItem } from './menu-item';
import { Time } from './time';
import styles from './data-table.module.css';

type Field<Row> = keyof Row & string;

/** A column of a table. Without `cell` it shows the field that `sort` or else `id` names; a dash if that is empty. */
export type Column<Row> = ColumnLook &
  (
    | { readonly id: string; readonly sort?: string | true; readonly cell: (row: Row) => ReactNode }
    | (FieldLook & { readonly id: Field<Row>; readonly sort?: true })
    | (FieldLook & { readonly id: string; readonly sort: Field<Row> })
  );

interface ColumnLook {
  readonly title: string;
  readonly align?: 'right';
  readonly width?: number | string;
  /** Whether the column is hidden by default. */
  readonly optional?: boolean;
}

interface FieldLook {
  readonly cell?: undefined;
  /** Default: the text of the value. */
  readonly show?: 'time' | 'number' | 'bytes';
}

/** Order of a list at the service. */
export interface Order {
  readonly orderByColumn?: string;
  readonly isAsc?: 'asc' | 'desc';
}

interface ListQuery extends Order {
  readonly pageNum: number;
  readonly pageSize: number;
}

/** Deletion of rows: an entry in the menu of each row and a button for the selected ones. */
export interface Removal<Row> {
  /** Label of the buttons: a verb with its object, such as "Delete 2 users". */
  readonly action: (count: number) => string;
  /** Title of the confirmation. Default: the label. */
  readonly title?: (row: Row) => string;
  /** Names what is destroyed, including dependent data. */
  readonly body: (rows: readonly Row[]) => ReactNode;
  /** Text that the user must type to confirm. */
  readonly typed?: (rows: readonly Row[]) => string | undefined;
  /** Returns the message to show unless `done` is set. */
  readonly run: (rows: readonly Row[]) => Promise<unknown>;
  readonly done?: string;
  /** Key prefixes of the queries to reload besides the table's own. */
  readonly changes?: readonly QueryKey[];
  /** Rows that cannot be deleted. */
  readonly isFixed?: (row: Row) => boolean;
  /** Whether the selected rows can be deleted together. */
  readonly single?: boolean;
  readonly icon?: Icon;
}

export interface TableProps<Row, Query = object> {
  /** Key of its queries and of the stored column choice. */
  readonly name: string;
  /** Id of the parent record, such as the knowledge base of documents. Part of the query key. */
  readonly of?: string | number;
  /** Accessible name of the table. */
  readonly label: string;
  readonly filters?: readonly Filter[];
  /** Translates the values of the filters into the query of the service. */
  readonly query?: (filters: SearchParams) => Query;
  readonly load: (
    query: ListQuery & Query,
    signal: AbortSignal,
  ) => Promise<{ readonly rows: readonly NoInfer<Row>[]; readonly total: number }>;
  /** Downloads all rows that match the filters; false without the permission. */
  readonly download?: false | ((query: Order & Query) => Promise<Blob | File>);
  readonly rowKey: (row: Row) => string | number;
  readonly columns: readonly Column<NoInfer<Row>>[];
  /** Actions on the whole list, shown above the table on the right. */
  readonly tools?: ReactNode;
  readonly empty: ReactNode;
  readonly onOpen?: false | ((row: NoInfer<Row>) => void);
  /** Label of the menu entry that opens a row. */
  readonly openLabel?: false | ((row: NoInfer<Row>) => string);
  /** Further menu entries of a row. */
  readonly rowActions?: false | ((row: NoInfer<Row>) => ReactNode);
  readonly remove?: false | Removal<NoInfer<Row>>;
  /** Actions on the selected rows. */
  readonly bulkActions?: false | ((rows: readonly NoInfer<Row>[], clear: () => void) => ReactNode);
  /** Polling interval in milliseconds; false to disable polling. */
  readonly refetchInterval?: number | false | ((rows: readonly NoInfer<Row>[]) => number | false);
}

const SIZES = ['20', '50', '100'];

/**
 * A paginated list of the service as a table: sorting, filters in the URL, selectable columns, selectable rows for
 * bulk actions, export. It scrolls horizontally if it does not fit.
 */
export function DataTable<Row, Query = object>({
  name,
  of,
  label,
  filters = [],
  query: queryOf,
  load,
  download,
  rowKey,
  columns,
  tools,
  empty,
  onOpen,
  openLabel,
  rowActions,
  remove,
  bulkActions,
  refetchInterval = false,
}: TableProps<Row, Query>) {
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
  const filterValues = Object.fromEntries(
    filters.map((filter) => [filter.name, address[filter.name]]),
  );
  const order = orderOf(address['sort']);
  const criteria = { ...order, ...(queryOf?.(filterValues) as Query) };
  const query = { pageNum: page, pageSize: size, ...criteria };
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: [name, ...(of === undefined ? [] : [of]), 'list', query],
    queryFn: ({ signal }) => load(query, signal),
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
  const exporting = useAction(async () => {
    if (download) saveFile(await download(criteria));
  });
  const askToRemove = useRemoval(remove || undefined, [name]);

  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />;
  const rows = data?.rows ?? [];
  const filtered = Object.values(filterValues).some((value) => value !== undefined && value !== '');
  if (data && total === 0 && !filtered) return empty;

  const hasChoice = columns.some(({ optional }) => optional);
  const canOpen = Boolean(onOpen && openLabel);
  const hasMenu = canOpen || Boolean(rowActions || remove);
  const removeMany = remove && !remove.single ? remove : undefined;
  const canSelect = Boolean(bulkActions || removeMany);
  // Space for bulk actions is reserved, so that the table does not move on the first selection.
  const hasToolbar = filters.length > 0 || Boolean(tools || download) || canSelect || hasChoice;
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
        (canSelect && selected.length > 0 ? (
          <Group mb="sm" gap="xs" mih={36}>
            <Text fw={600}>{t('chosenRows', { count: selected.length })}</Text>
            {bulkActions && bulkActions(selected, clear)}
            {removeMany && (
              <Button
                variant="light"
                color="red"
                disabled={selected.some((row) => removeMany.isFixed?.(row))}
                onClick={() => askToRemove(selected, clear)}
              >
                {removeMany.action(selected.length)}
              </Button>
            )}
            <Button variant="subtle" color="gray" onClick={clear}>
              {t('clearChoice')}
            </Button>
          </Group>
        ) : (
          <FilterBar
            filters={filters}
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
                {download && (
                  <ExportButton
                    label={t('export')}
                    loading={exporting.isPending}
                    onClick={() => exporting.mutate()}
                  />
                )}
              </>
            }
          />
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
                {canSelect && (
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
                {hasMenu && (
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
                  className={onOpen ? styles['open'] : undefined}
                  onClick={(event) => {
                    // Clicks on a link, switch or menu in the row do not open it.
                    const inside = (event.target as Element).closest('a, button, input, label');
                    if (onOpen && !inside && event.currentTarget.contains(event.target as Node))
                      onOpen(row);
                  }}
                >
                  {canSelect && (
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
                  {visible.map((column, place) => (
                    <Table.Td key={column.id} align={column.align}>
                      {place === 0 && onOpen ? (
                        <UnstyledButton className={styles['name']} onClick={() => onOpen(row)}>
                          {contentOf(column, row)}
                        </UnstyledButton>
                      ) : (
                        contentOf(column, row)
                      )}
                    </Table.Td>
                  ))}
                  {hasMenu && (
                    <Table.Td>
                      <Menu>
                        <Menu.Target>
                          <ActionIcon aria-label={t('actions')}>
                            <IconDotsVertical size={16} stroke={1.5} />
                          </ActionIcon>
                        </Menu.Target>
                        <Menu.Dropdown>
                          {onOpen && openLabel && (
                            <MenuItem icon={IconPencil} onClick={() => onOpen(row)}>
                              {openLabel(row)}
                            </MenuItem>
                          )}
                          {rowActions && rowActions(row)}
                          {remove && (
                            <MenuItem
                              color="red"
                              icon={remove.icon ?? IconTrash}
                              disabled={remove.isFixed?.(row) ?? false}
                              onClick={() => askToRemove([row])}
                            >
                              {remove.action(1)}
                            </MenuItem>
                          )}
                        </Menu.Dropdown>
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

/** Asks for confirmation and deletes the rows. */
function useRemoval<Row>(
  removal: Removal<Row> | undefined,
  listKey: QueryKey,
): (rows: readonly Row[], after?: () => void) => void {
  const { mutateAsync } = useAction(
    async (rows: readonly Row[]) => {
      const result = await removal?.run(rows);
      return removal?.done ?? String(result);
    },
    { done: (message) => message, changes: [listKey, ...(removal?.changes ?? [])] },
  );
  return (rows, after) => {
    const [first] = rows;
    if (!removal || first === undefined) return;
    const action = removal.action(rows.length);
    const typed = removal.typed?.(rows);
    confirmDestruction({
      title: (rows.length === 1 && removal.title?.(first)) || action,
      body: removal.body(rows),
      action,
      ...(typed !== undefined && { name: typed }),
      run: async () => {
        await mutateAsync(rows);
        after?.();
      },
    });
  };
}

function sortOf<Row>({ id, sort }: Column<Row>): string | undefined {
  return sort === true ? id : sort;
}

function contentOf<Row>(column: Column<Row>, row: Row): ReactNode {
  if (column.cell) return column.cell(row);
  const value = row[(sortOf(column) ?? column.id) as Field<Row>] as
    | string
    | number
    | null
    | undefined;
  if (column.show === 'time') return <Time value={value as string} />;
  if (value === null || value === undefined || value === '') return '–';
  if (column.show === 'number') return number(Number(value));
  return column.show === 'bytes' ? bytes(Number(value)) : value;
}

/** Sort order in the URL: `name` ascending, `-name` descending. */
function orderOf(sort: string | undefined): Order {
  if (!sort) return {};
  const descending = sort.startsWith('-');
  return {
    orderByColumn: descending ? sort.slice(1) : sort,
    isAsc: descending ? 'desc' : 'asc',
  };
}

interface HeadCellProps<Row> {
  readonly column: Column<Row>;
  readonly order: Order;
  readonly onSort: (sort: string | undefined) => void;
}

function HeadCell<Row>({ column, order, onSort }: HeadCellProps<Row>) {
  const { title, align, width } = column;
  const sort = sortOf(column);
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

interface ExportProps {
  readonly label: string;
  readonly loading: boolean;
  readonly onClick: () => void;
}

export function ExportButton({ label, loading, onClick }: ExportProps) {
  return (
    <IconButton icon={IconDownload} label={label} size="lg" loading={loading} onClick={onClick} />
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
        <IconButton icon={IconColumns} label={t('columns')} size="lg" />
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
