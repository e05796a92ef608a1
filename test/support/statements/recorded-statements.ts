import { getMetadataArgsStorage } from 'typeorm';
import { entities } from '../entities.js';
import { recordedStatements } from '../statement-recorder.js';
import { allowedStatements } from './allowed-statements.js';
import { tenantViolations } from './tenant-rule.js';
import type { TenantTables } from './tenant-rule.js';

/** The tables whose rows are the tenants themselves. */
const REGISTERS = ['tenant'];

/** Made at the start where the extension pgvector is: no entity says of it that it has a tenant. */
const WITHOUT_ENTITY = ['fragment_pgvector'];

/** Every table of an entity that has a tenantId. */
export function tenantTables(): TenantTables {
  const { tables, columns } = getMetadataArgsStorage();
  const withTenant = tables
    .filter(({ target }) => entities.some((entity) => entity === target))
    .filter(({ target }) =>
      columns.some((column) => column.propertyName === 'tenantId' && column.target === target),
    )
    .map(({ name }) => name ?? '');
  return {
    owned: new Set([...withTenant.filter((name) => !REGISTERS.includes(name)), ...WITHOUT_ENTITY]),
    registers: new Set(REGISTERS),
  };
}

/** Statements without a problem, which other test files of this process run as well. */
const sound = new Set<string>();

/** Throws when a statement that ran so far touches a tenant table without saying of which tenant. */
export function checkRecordedStatements(): void {
  const tables = tenantTables();
  const wrong = [...recordedStatements()]
    .filter((sql) => !sound.has(sql))
    .flatMap((sql) => {
      const problems = problemsOf(sql, tables);
      if (problems.length === 0) sound.add(sql);
      return problems;
    });
  if (wrong.length > 0) throw new Error(`Statements outside of a tenant:\n${wrong.join('\n')}`);
}

function problemsOf(sql: string, tables: TenantTables): string[] {
  const text = asOneLine(sql);
  if (allowedStatements.some(({ begins }) => text.startsWith(begins))) return [];
  return tenantViolations(sql, tables).map((problem) => `  ${problem}: ${text}`);
}

export function asOneLine(sql: string): string {
  return sql.replace(/\s+/g, ' ').trim();
}
