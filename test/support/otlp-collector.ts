import { createServer } from 'node:http';
import type { IncomingHttpHeaders, Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as a collector gets it (opentelemetry-proto 1.9, trace.proto). */
export interface CollectedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first span of a trace. */
  readonly parentId: string;
  /** 1 internal, 2 server, 3 client, 5 consumer. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly failed: boolean;
  readonly resource: Readonly<Record<string, unknown>>;
}

/** A collector of OTLP over HTTP: decodes what it is sent, at any path that ends in /v1/traces. */
export class OtlpCollector {
  readonly spans: CollectedSpan[] = [];
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders }[] = [];
  /** The answers: 200, another status, or none at all. */
  answers: number | 'none' = 200;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<OtlpCollector> {
    const server = createServer();
    const collector = new OtlpCollector(server);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { answers } = collector;
        collector.requests.push({ path: request.url ?? '', headers: request.headers });
        if (answers === 'none') return;
        if (answers === 200) collector.spans.push(...spansIn(Buffer.concat(chunks)));
        response.writeHead(answers, { 'content-type': 'application/x-protobuf' }).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  trace(traceId: string): CollectedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  /** The names from the first span of the trace down to this one. */
  pathOf(span: CollectedSpan): string[] {
    const parent = this.spans.find(({ spanId }) => spanId === span.parentId);
    return [...(parent ? this.pathOf(parent) : []), span.name];
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

type Field = Buffer | bigint;
type Fields = ReadonlyMap<number, readonly Field[]>;

function spansIn(body: Buffer): CollectedSpan[] {
  return messages(body, 1).flatMap((resourceSpans) => {
    const [resource] = messages(resourceSpans, 1);
    const attributes = resource ? attributesIn(resource, 1) : {};
    return messages(resourceSpans, 2).flatMap((scopeSpans) =>
      messages(scopeSpans, 2).map((span) => toSpan(span, attributes)),
    );
  });
}

function toSpan(bytes: Buffer, resource: CollectedSpan['resource']): CollectedSpan {
  const fields = fieldsOf(bytes);
  const hex = (field: number): string => bytesIn(fields, field).toString('hex');
  const [status] = messages(bytes, 15);
  return {
    name: bytesIn(fields, 5).toString(),
    traceId: hex(1),
    spanId: hex(2),
    parentId: hex(4),
    kind: Number(fields.get(6)?.[0] ?? 0),
    attributes: attributesIn(bytes, 9),
    failed: status !== undefined && Number(fieldsOf(status).get(3)?.[0] ?? 0) === 2,
    resource,
  };
}

function attributesIn(message: Buffer, field: number): Record<string, unknown> {
  return Object.fromEntries(
    messages(message, field).map((pair) => {
      const [value] = messages(pair, 2);
      return [bytesIn(fieldsOf(pair), 1).toString(), value && valueOf(value)];
    }),
  );
}

/** An AnyValue: text, boolean, whole number, decimal or list. */
function valueOf(bytes: Buffer): unknown {
  const [entry] = fieldsOf(bytes);
  const [field, [value] = []] = entry ?? [];
  if (Buffer.isBuffer(value)) {
    if (field === 4) return value.readDoubleLE();
    return field === 5 ? messages(value, 1).map(valueOf) : value.toString();
  }
  return field === 2 ? value === 1n : Number(value);
}

function messages(message: Buffer, field: number): Buffer[] {
  return (fieldsOf(message).get(field) ?? []).filter((value) => Buffer.isBuffer(value));
}

function bytesIn(fields: Fields, field: number): Buffer {
  const value = fields.get(field)?.[0];
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
}

/** The wire format of Protocol Buffers: varints, 8 and 4 bytes, and lengths followed by bytes. */
function fieldsOf(message: Buffer): Fields {
  const fields = new Map<number, Field[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++] ?? 0;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const bytes = (length: number): Buffer => message.subarray(at, (at += length));
  while (at < message.length) {
    const key = Number(varint());
    const type = key & 7;
    const value = type === 0 ? varint() : bytes(type === 1 ? 8 : type === 5 ? 4 : Number(varint()));
    fields.set(key >> 3, [...(fields.get(key >> 3) ?? []), value]);
  }
  return fields;
}
