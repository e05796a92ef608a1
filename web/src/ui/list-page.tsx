import { IconPlus } from '@tabler/icons-react';
import type { Icon } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { ActionButton, LinkButton } from './buttons';
import { DataTable } from './data-table';
import type { TableProps } from './data-table';
import { Empty } from './states';
import { Page } from './page';
import type { PageProps } from './page';

interface Props<Row, Query> extends Omit<TableProps<Row, Query>, 'label' | 'empty' | 'onOpen'> {
  readonly title: string;
  /** Accessible name of the table. Default: the title. */
  readonly label?: string;
  readonly description: string;
  readonly above?: PageProps['above'];
  /** Label of the button that adds a record; false without the permission. */
  readonly add?: string | false;
  /** Other actions of the page. */
  readonly actions?: ReactNode;
  /** The form of a record, in a drawer; of a new one if it is undefined. */
  readonly form?: (row: NoInfer<Row> | undefined, close: () => void) => ReactNode;
  /** Address of the page of a record; of a new one if it is undefined. */
  readonly pageOf?: (row: NoInfer<Row> | undefined) => string;
  /** Whether a row can be opened. Default: if it has a form or a page. */
  readonly canOpen?: boolean;
  readonly onOpen?: (row: NoInfer<Row>) => void;
  readonly empty: {
    readonly icon: Icon;
    readonly title: string;
    readonly hint?: string;
    /** Whether the button that adds a record is left out. */
    readonly isBare?: boolean;
  };
  /** Puts the table below further content of the page. */
  readonly within?: (table: ReactNode) => ReactNode;
  /** Drawers and dialogs of the page. */
  readonly children?: ReactNode;
}

/** A page that lists records: table, filters, the form or page of a record, deletion and download. */
export function ListPage<Row, Query = object>({
  title,
  label = title,
  description,
  above,
  add,
  actions,
  form,
  pageOf,
  canOpen = true,
  onOpen,
  empty,
  within = (table) => table,
  children,
  ...table
}: Props<Row, Query>) {
  const navigate = useNavigate();
  const [edited, setEdited] = useState<Row | 'new'>();
  const open = pageOf ? (row: Row) => void navigate({ to: pageOf(row) }) : form && setEdited;
  const addButton =
    add &&
    (form ? (
      <ActionButton icon={IconPlus} onClick={() => setEdited('new')}>
        {add}
      </ActionButton>
    ) : (
      <LinkButton icon={IconPlus} to={pageOf?.(undefined)}>
        {add}
      </LinkButton>
    ));
  return (
    <Page
      title={title}
      description={description}
      above={above}
      actions={
        <>
          {actions}
          {addButton}
        </>
      }
    >
      {within(
        <DataTable
          {...table}
          label={label}
          onOpen={canOpen && (onOpen ?? open ?? false)}
          empty={
            <Empty icon={empty.icon} title={empty.title} action={!empty.isBare && addButton}>
              {empty.hint}
            </Empty>
          }
        />,
      )}
      {edited !== undefined &&
        form?.(edited === 'new' ? undefined : edited, () => setEdited(undefined))}
      {children}
    </Page>
  );
}
