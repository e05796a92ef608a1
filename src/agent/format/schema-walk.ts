/** One rule that a value breaks. */
export interface Problem {
  /** JSON pointer (RFC 6901) to the value; empty for the root. */
  readonly path: string;
  /** The keyword of JSON Schema; `json` for a text that is not JSON. */
  readonly rule: string;
  readonly message: string;
}

/** Result of a check that timed out. */
export const TOO_SLOW = 'too-slow';

/** Maximum characters of a schema as JSON, which is sent with every call. */
export const MAX_SCHEMA_CHARS = 32_000;
/** Maximum nesting, including the schema itself. */
const MAX_DEPTH = 16;
const MAX_PATTERN_CHARS = 1_000;

/** Keywords whose value is a schema, a list of schemas or an object of schemas. */
const SCHEMA = new Set([
  'additionalItems',
  'additionalProperties',
  'contains',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]);
const SCHEMAS = new Set(['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems']);
const SCHEMAS_BY_NAME = new Set([
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
]);

/** Keywords that make a schema depend on others, or its check on more than the answer. */
const REFUSED: Readonly<Record<string, string>> = {
  $id: 'is not supported: refer to a part of the schema by #/$defs/…',
  id: 'is not supported: refer to a part of the schema by #/$defs/…',
  $anchor: 'is not supported: refer to a part of the schema by #/$defs/…',
  $dynamicAnchor: 'is not supported: use $ref and $defs',
  $dynamicRef: 'is not supported: use $ref and $defs',
  $recursiveAnchor: 'is not supported: use $ref and $defs',
  $recursiveRef: 'is not supported: use $ref and $defs',
  $async: 'is not supported',
  $vocabulary: 'is not supported',
};

/** The dialects that are checked, by their address without `#` at the end. */
const DIALECTS = [
  'https://json-schema.org/draft/2020-12/schema',
  'http://json-schema.org/draft-07/schema',
];

/** Problems of a schema with their paths, except those that the validator reports itself. */
export function problemsOfSchema(
  root: Readonly<Record<string, unknown>>,
  isKnown: (keyword: string) => boolean,
): Problem[] {
  const deep = tooDeep(root);
  if (deep !== undefined) return [problem(deep, 'depth', `is nested more than ${MAX_DEPTH} deep`)];
  if (root['type'] !== 'object') {
    return [problem('/type', 'type', 'must be "object": the answer is one JSON object')];
  }
  const dialect = root['$schema'];
  const isKnownDialect =
    typeof dialect === 'string' && DIALECTS.includes(dialect.replace(/#$/, ''));
  if (dialect !== undefined && !isKnownDialect) {
    return [problem('/$schema', '$schema', `must be ${DIALECTS.join(' or ')}, or be left out`)];
  }
  const problems: Problem[] = [];
  walk(root, '', (schema, path) => {
    for (const [keyword, value] of Object.entries(schema)) {
      const wrong = problemOf(keyword, value, path === '' ? 'root' : 'part');
      if (wrong !== undefined) problems.push(problem(at(path, keyword), keyword, wrong));
      else if (!isKnown(keyword)) {
        problems.push(problem(at(path, keyword), keyword, 'is not a keyword of JSON Schema'));
      } else if (keyword === '$ref' && !resolves(root, String(value))) {
        problems.push(problem(at(path, keyword), keyword, 'refers to a part that does not exist'));
      }
    }
  });
  return problems;
}

function problemOf(keyword: string, value: unknown, place: 'root' | 'part'): string | undefined {
  if (Object.hasOwn(REFUSED, keyword)) return REFUSED[keyword];
  if (keyword === '$schema' && place === 'part') return 'is only allowed at the root';
  if (keyword === '$ref') {
    const isLocal = typeof value === 'string' && /^#(\/|$)/.test(value);
    return isLocal ? undefined : 'must refer to a part of this schema, such as "#/$defs/item"';
  }
  if (keyword === 'pattern') return problemOfPattern(value);
  if (!SCHEMAS_BY_NAME.has(keyword) || !isRecord(value)) return undefined;
  const names = Object.keys(value);
  if (names.includes('__proto__')) return 'must not have the name __proto__';
  if (keyword !== 'patternProperties') return undefined;
  return names.map(problemOfPattern).find((wrong) => wrong !== undefined);
}

function problemOfPattern(pattern: unknown): string | undefined {
  if (typeof pattern !== 'string') return 'must be a text';
  if (pattern.length > MAX_PATTERN_CHARS) return `has more than ${MAX_PATTERN_CHARS} characters`;
  try {
    new RegExp(pattern, 'u');
    return undefined;
  } catch {
    return 'is not a regular expression of JavaScript with the flag u';
  }
}

type Visit = (schema: Readonly<Record<string, unknown>>, path: string) => void;

/** Visits the schema and all of its parts that are schemas. */
function walk(schema: unknown, path: string, visit: Visit): void {
  if (!isRecord(schema)) return;
  visit(schema, path);
  for (const [keyword, value] of Object.entries(schema)) {
    const place = at(path, keyword);
    if (Array.isArray(value)) {
      if (SCHEMAS.has(keyword)) value.forEach((part, n) => walk(part, at(place, String(n)), visit));
    } else if (SCHEMA.has(keyword)) walk(value, place, visit);
    else if (SCHEMAS_BY_NAME.has(keyword) && isRecord(value)) {
      for (const [name, part] of Object.entries(value)) walk(part, at(place, name), visit);
    }
  }
}

/** The path to the first value that is too deep. The body of a request is not deep enough to exhaust the stack. */
function tooDeep(value: unknown, path = '', depth = 0): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth >= MAX_DEPTH) return path;
  for (const [name, part] of Object.entries(value)) {
    const deepPath = tooDeep(part, at(path, name), depth + 1);
    if (deepPath !== undefined) return deepPath;
  }
  return undefined;
}

function resolves(root: unknown, reference: string): boolean {
  let target: unknown = root;
  for (const token of reference.split('/').slice(1)) {
    const name = nameOf(token);
    if (name === undefined || typeof target !== 'object' || target === null) return false;
    if (!Object.hasOwn(target, name)) return false;
    target = (target as Readonly<Record<string, unknown>>)[name];
  }
  return isRecord(target) || typeof target === 'boolean';
}

function nameOf(token: string): string | undefined {
  try {
    return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return undefined;
  }
}

function at(path: string, name: string): string {
  return `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function problem(path: string, rule: string, message: string): Problem {
  return { path, rule, message };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
