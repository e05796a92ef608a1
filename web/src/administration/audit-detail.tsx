import { Code, Group, Table, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import styles from './audit.module.css';

type Detail = Readonly<Record<string, unknown>>;

function textOf(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isRecord(value: unknown): value is Detail {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Details of an audit log entry: the values before and after, the changed fields and all other data. */
export function AuditDetail({ detail }: { readonly detail: Detail }) {
  const { t } = useTranslation('administration');
  const { before, after, fields, changed, ...rest } = detail;
  const names = [fields, changed].flatMap((one): unknown[] => (Array.isArray(one) ? one : []));
  const others = Object.entries(rest);
  if (Object.keys(detail).length === 0) {
    return (
      <Text size="sm" c="dimmed">
        {t('audit.noDetail')}
      </Text>
    );
  }
  return (
    <>
      {names.length > 0 && (
        <Group gap={4}>
          <Text size="sm" c="dimmed">
            {t('audit.changedFields')}
          </Text>
          {names.map((name) => (
            <Code key={String(name)}>{String(name)}</Code>
          ))}
        </Group>
      )}
      {(before !== undefined || after !== undefined) && <Change before={before} after={after} />}
      {others.length > 0 && (
        <Table className={styles['fields']} aria-label={t('audit.details')}>
          <Table.Tbody>
            {others.map(([name, value]) => (
              <Table.Tr key={name}>
                <Table.Th scope="row" w={180}>
                  {name}
                </Table.Th>
                <Table.Td>{textOf(value)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </>
  );
}

/** Shows lists as added and removed entries, records field by field, and everything else as before and after. */
function Change({ before, after }: { readonly before: unknown; readonly after: unknown }) {
  const { t } = useTranslation('administration');
  if (Array.isArray(before) && Array.isArray(after)) {
    const valuesBefore = before.map(textOf);
    const valuesAfter = after.map(textOf);
    const added = valuesAfter.filter((one) => !valuesBefore.includes(one));
    const removed = valuesBefore.filter((one) => !valuesAfter.includes(one));
    if (added.length + removed.length === 0) {
      return (
        <Text size="sm" c="dimmed">
          {t('audit.unchanged')}
        </Text>
      );
    }
    return (
      <ul className={styles['diff']} aria-label={t('audit.change')}>
        {removed.map((one) => (
          <li key={`-${one}`} className={styles['removed']}>
            <span className="only-for-readers">{t('audit.removed')}</span>
            {one}
          </li>
        ))}
        {added.map((one) => (
          <li key={`+${one}`} className={styles['added']}>
            <span className="only-for-readers">{t('audit.added')}</span>
            {one}
          </li>
        ))}
      </ul>
    );
  }
  const rows =
    isRecord(before) && isRecord(after)
      ? [...new Set([...Object.keys(before), ...Object.keys(after)])]
          .filter((name) => textOf(before[name]) !== textOf(after[name]))
          .map((name) => [name, before[name], after[name]] as const)
      : [['', before, after] as const];
  return (
    <Table className={styles['fields']} aria-label={t('audit.change')}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th w={180}>{t('audit.field')}</Table.Th>
          <Table.Th>{t('audit.before')}</Table.Th>
          <Table.Th>{t('audit.after')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map(([name, was, is]) => (
          <Table.Tr key={name}>
            <Table.Td>{name || t('audit.value')}</Table.Td>
            <Table.Td className={styles['removedText']}>{textOf(was)}</Table.Td>
            <Table.Td className={styles['addedText']}>{textOf(is)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
