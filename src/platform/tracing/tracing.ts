import { ATTRIBUTE } from './conventions.js';

type AttributeValue = string | number | boolean | readonly string[];

/** Attributes of a span; undefined ones are left out. */
export type SpanAttributes = Readonly<Record<string, AttributeValue | undefined>>;

export interface SpanOptions {
  readonly kind?: 'internal' | 'server' | 'client' | 'consumer';
  /** Asked for with a tracer alone, so that tracing that is off costs nothing. */
  readonly attributes?: () => SpanAttributes;
  /** The span above it, or `traceparent` (W3C) of one elsewhere; the current span when absent. A text that is none is ignored. */
  readonly parent?: Span | string | undefined;
}

/** A span of the present trace. Without the decision to sample it nothing is recorded, and those below it follow. */
export interface Span {
  readonly isSampled: boolean;
  readonly traceId: string;
  /** The header of W3C Trace Context. */
  readonly traceparent: string;
  set(attributes: SpanAttributes): void;
  rename(name: string): void;
  /** Ends the span, the first time it is called; with an error type it has failed. Messages of errors are not recorded, because they can hold content. */
  end(errorType?: string): void;
  /** Runs the work with this span as the current one. */
  run<T>(work: () => T): T;
}

export interface Tracer {
  start(name: string, options: SpanOptions): Span;
  current(): Span | undefined;
  /** Whether calls of models carry `traceparent`. */
  readonly tracesModelCalls: boolean;
}

/** The tracer of this process; undefined without OTEL_EXPORTER_OTLP_ENDPOINT: then each function here costs one comparison. */
let tracer: Tracer | undefined;
/** Tenants whose content is recorded (TraceContent). */
let contentTenants: ReadonlySet<string> = new Set();

export function setTracer(next: Tracer | undefined): void {
  tracer = next;
}

export function isTracer(candidate: Tracer): boolean {
  return tracer === candidate;
}

export function setContentTenants(tenantIds: ReadonlySet<string>): void {
  contentTenants = tenantIds;
}

/** Starts a span, which its caller ends. Undefined without tracing. */
export function startSpan(name: string, options: SpanOptions = {}): Span | undefined {
  return tracer?.start(name, options);
}

/** The span that the present work belongs to. */
export function currentSpan(): Span | undefined {
  return tracer?.current();
}

/** The id of the present trace, for answers and log lines; undefined where it is not sampled, because it leads to nothing. */
export function currentTraceId(): string | undefined {
  const span = tracer?.current();
  return span?.isSampled ? span.traceId : undefined;
}

/** The `traceparent` for a call of a model below the span; undefined unless TRACE_MODEL_CALLS is on. */
export function modelTraceparent(span: Span | undefined): string | undefined {
  return tracer?.tracesModelCalls ? span?.traceparent : undefined;
}

/** Whether prompts, answers and arguments of tools are recorded in the span: the tenant has switched it on. */
export function recordsContent(span: Span | undefined, tenantId: string): span is Span {
  return span?.isSampled === true && contentTenants.has(tenantId);
}

/** Runs the work in a span, which fails with it. */
export async function traced<T>(
  name: string,
  options: SpanOptions,
  work: (span?: Span) => Promise<T>,
): Promise<T> {
  const span = tracer?.start(name, options);
  if (!span) return work();
  try {
    const result = await span.run(() => work(span));
    span.end();
    return result;
  } catch (error) {
    span.end(errorType(error));
    throw error;
  }
}

/** A class of errors: the kind of an UpstreamError, the code of a system error or a statement, else the name of the class. */
export function errorType(error: unknown): string {
  const { kind, code, name } = error as { kind?: unknown; code?: unknown; name?: unknown };
  const type = [kind, code, name].find((value) => typeof value === 'string' && value !== '');
  return typeof type === 'string' ? type : '_OTHER';
}

const FIRST_WORD = /^\s*(?:--[^\n]*\n\s*)*(\w+)/;
/** What a statement that begins with WITH does. */
const CHANGE = /(?<!\bFOR )\b(INSERT|UPDATE|DELETE)\b/;
const TABLE = /\b(?:(?:INTO|UPDATE)\s+"?([a-z_]\w*)|(?:FROM|JOIN)\s+"?([a-z_]\w*)\b(?!\s*\())/;

/** Starts the span of a statement: its operation and its first table, never its text or values. Undefined outside of sampled work. */
export function startStatement(text: string): Span | undefined {
  const parent = tracer?.current();
  if (!parent?.isSampled) return undefined;
  const word = FIRST_WORD.exec(text)?.[1]?.toUpperCase() ?? 'QUERY';
  const operation = word === 'WITH' ? (CHANGE.exec(text)?.[1] ?? 'SELECT') : word;
  const [, changed, read] = TABLE.exec(text) ?? [];
  const table = changed ?? read;
  return startSpan(table === undefined ? operation : `${operation} ${table}`, {
    kind: 'client',
    parent,
    attributes: () => ({
      [ATTRIBUTE.dbSystem]: 'postgresql',
      [ATTRIBUTE.dbOperation]: operation,
      [ATTRIBUTE.dbTable]: table,
    }),
  });
}
