import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api';
import type { Attributes, Context, SpanContext, Span as SdkSpan } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Sampler, SpanExporter, TracerProviderOptions } from '@opentelemetry/sdk-trace';
import { Logger } from '@nestjs/common';
import type { Config } from '../config/index.js';
import { withLimit } from '../dependency/index.js';
import { ATTRIBUTE } from './conventions.js';
import { isTracer, setTracer } from './tracing.js';
import type { Span, SpanAttributes, SpanOptions, Tracer } from './tracing.js';

/** Ended spans that wait for the collector; further ones are dropped. */
const MAX_WAITING_COUNT = 4_096;
const MAX_BATCH_COUNT = 512;
const EXPORT_EVERY_MS = 2_000;
/** Time limit of a batch, its repeats included. */
const EXPORT_MS = 10_000;
/** Time limit for the last spans when the process stops. */
const FLUSH_MS = 3_000;
/** Length of a recorded value, which only content reaches. */
const MAX_VALUE_CHARS = 32_768;

export type TracingSettings = Pick<
  Config,
  | 'OTEL_EXPORTER_OTLP_HEADERS'
  | 'OTEL_SERVICE_NAME'
  | 'OTEL_RESOURCE_ATTRIBUTES'
  | 'OTEL_TRACES_SAMPLER'
  | 'OTEL_TRACES_SAMPLER_ARG'
  | 'TRACE_MODEL_CALLS'
  | 'ROLE'
>;

export interface TracedProcess {
  /** The base address of the collector. */
  readonly endpoint: string;
  readonly version: string;
  readonly instanceId: string;
}

/**
 * Records the spans of this process and sends them to the collector, and returns what ends that. This file alone loads the SDK of
 * OpenTelemetry. Nothing waits for the collector: while it is slow or away, spans are dropped, and the log has one line.
 */
export function startExport(
  settings: TracingSettings,
  process: TracedProcess,
): () => Promise<void> {
  const exporter = new OTLPTraceExporter({
    url: `${process.endpoint}/v1/traces`,
    headers: settings.OTEL_EXPORTER_OTLP_HEADERS,
    timeoutMillis: EXPORT_MS,
  });
  const processor = new BatchSpanProcessor({
    exporter: reported(exporter),
    maxQueueSize: MAX_WAITING_COUNT,
    maxExportBatchSize: MAX_BATCH_COUNT,
    scheduledDelayMillis: EXPORT_EVERY_MS,
    exportTimeoutMillis: EXPORT_MS + 1_000,
  });
  const provider = new TracerProvider({
    resource: resourceOf(settings, process),
    sampler: samplerOf(settings),
    spanLimits: { attributeValueLengthLimit: MAX_VALUE_CHARS },
    spanProcessors: [processor],
  });
  const tracer = tracerOf(provider, settings.TRACE_MODEL_CALLS);
  setTracer(tracer);
  return async () => {
    if (isTracer(tracer)) setTracer(undefined);
    await withLimit(FLUSH_MS, provider.shutdown(), () => undefined).catch(() => undefined);
  };
}

/** The exporter, whose first failure and next success are logged. */
function reported(exporter: OTLPTraceExporter): SpanExporter {
  const logger = new Logger('Tracing');
  let isUp = true;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const succeeded = result.error === undefined;
        if (isUp && !succeeded) logger.warn({ msg: 'Failed to export traces', err: result.error });
        if (!isUp && succeeded) logger.log({ msg: 'Traces are exported again' });
        isUp = succeeded;
        done(result);
      }),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
}

function samplerOf({
  OTEL_TRACES_SAMPLER: name,
  OTEL_TRACES_SAMPLER_ARG: ratio,
}: TracingSettings): Sampler {
  const roots: Readonly<Record<string, Sampler>> = {
    always_on: new AlwaysOnSampler(),
    always_off: new AlwaysOffSampler(),
    traceidratio: new TraceIdRatioBasedSampler(ratio),
  };
  const root = roots[name.replace('parentbased_', '')] ?? new AlwaysOnSampler();
  // Spans of this process always follow the one above them; otherwise only the flag of callers counts.
  const remote = name.startsWith('parentbased_')
    ? {}
    : { remoteParentSampled: root, remoteParentNotSampled: root };
  return new ParentBasedSampler({ root, ...remote });
}

/** The package that makes resources is none of this one's dependencies; the exporter reads the attributes alone. */
function resourceOf(
  settings: TracingSettings,
  process: TracedProcess,
): NonNullable<TracerProviderOptions['resource']> {
  const attributes: Attributes = {
    'telemetry.sdk.name': 'opentelemetry',
    'telemetry.sdk.language': 'nodejs',
    'service.version': process.version,
    'service.instance.id': process.instanceId,
    'plinth.role': settings.ROLE,
    ...settings.OTEL_RESOURCE_ATTRIBUTES,
    'service.name': settings.OTEL_SERVICE_NAME,
  };
  const resource = {
    attributes,
    merge: () => resource,
    getRawAttributes: () => Object.entries(attributes),
  };
  return resource;
}

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
};

function tracerOf(provider: TracerProvider, tracesModelCalls: boolean): Tracer {
  const sdkTracer = provider.getTracer('plinth');
  // Not the global one: an installation in a test has its own, and no other package of the process adds spans.
  const contexts = new AsyncLocalStorageContextManager().enable();
  const spanKey = Symbol('span');

  class RecordedSpan implements Span {
    readonly isSampled: boolean;
    readonly traceId: string;
    readonly traceparent: string;

    constructor(
      private readonly span: SdkSpan,
      private readonly above: Context,
    ) {
      const { traceId, spanId, traceFlags } = span.spanContext();
      this.isSampled = (traceFlags & TraceFlags.SAMPLED) !== 0;
      this.traceId = traceId;
      this.traceparent = `00-${traceId}-${spanId}-${this.isSampled ? '01' : '00'}`;
    }

    /** The context in which spans below it start. */
    get context(): Context {
      return trace.setSpan(this.above, this.span).setValue(spanKey, this);
    }

    set(attributes: SpanAttributes): void {
      if (this.isSampled) this.span.setAttributes(present(attributes));
    }

    rename(name: string): void {
      this.span.updateName(name);
    }

    end(errorType?: string): void {
      if (!this.span.isRecording()) return;
      if (errorType !== undefined) {
        this.set({ [ATTRIBUTE.errorType]: errorType });
        this.span.setStatus({ code: SpanStatusCode.ERROR });
      }
      this.span.end();
    }

    run<T>(work: () => T): T {
      return contexts.with(this.context, work);
    }
  }

  const parentContext = (parent: SpanOptions['parent']): Context => {
    if (parent instanceof RecordedSpan) return parent.context;
    const remote = typeof parent === 'string' ? spanContextIn(parent) : undefined;
    const active = contexts.active();
    if (!remote) return active;
    // Work that already belongs to the trace stays below its own span.
    const isActive = trace.getSpanContext(active)?.traceId === remote.traceId;
    return isActive ? active : trace.setSpanContext(ROOT_CONTEXT, remote);
  };

  return {
    tracesModelCalls,
    current: () => contexts.active().getValue(spanKey) as Span | undefined,
    start: (name, { kind = 'internal', attributes, parent }) => {
      const above = parentContext(parent);
      const options = { kind: KINDS[kind], attributes: present(attributes?.() ?? {}) };
      return new RecordedSpan(sdkTracer.startSpan(name, options, above), above);
    },
  };
}

function present(attributes: SpanAttributes): Attributes {
  const entries = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries);
}

const TRACEPARENT = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/;
const NO_ID = /^0+$/;

/** The span of a `traceparent` (W3C Trace Context, 3.2); undefined for any other text. `tracestate` and baggage are not read. */
function spanContextIn(traceparent: string): SpanContext | undefined {
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === '' || NO_ID.test(traceId) || NO_ID.test(spanId)) return undefined;
  const isSampled = (Number.parseInt(flags, 16) & TraceFlags.SAMPLED) !== 0;
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return { traceId, spanId, traceFlags, isRemote: true };
}
