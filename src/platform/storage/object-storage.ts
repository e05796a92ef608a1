import { createHash } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { addAbortSignal, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { S3Client } from '@aws-sdk/client-s3';
import type { OnApplicationShutdown } from '@nestjs/common';
import type { Config } from '../config/index.js';
import { DependencyFault } from '../dependency/index.js';
import type { Dependency } from '../dependency/index.js';
import { NotFoundError, UnavailableError } from '../error/index.js';
import { msg } from '../message/index.js';
import type { Message } from '../message/index.js';
import { OutboundError, OutboundHttp } from '../outbound/index.js';
import { assertFileKey, FileStorage } from './file-storage.js';
import type {
  ByteRange,
  NamedObject,
  NamedObjects,
  WriteOptions,
  WrittenFile,
} from './file-storage.js';
import { s3Transport } from './s3-transport.js';
import { FileTooLargeError } from './storage.errors.js';

type Address = NonNullable<Config['STORAGE_URL']>;
type Sdk = typeof import('@aws-sdk/client-s3') & typeof import('@aws-sdk/lib-storage');

/** Below the prefix of STORAGE_URL: the contents of files, and an empty mark for each one that is set aside. */
const FILES = 'files/';
const QUARANTINE = 'quarantine/';
const PROBE = 'probe';

/** Interval of the probes of a storage that works, so that an outage is known before a request meets it. */
const PROBE_EVERY_MS = 15_000;
/** Time limit of a probe, and of taking the parts of a failed upload away. */
const PROBE_MS = 5_000;

/** The least that Amazon S3 accepts; an upload has two parts in memory, and 10,000 parts at most. */
const PART_BYTES = 5 * 2 ** 20;
const PARTS_AT_ONCE = 2;

/** Parts of a content that may be a dump of 300 GB. */
const LARGE_PART_BYTES = 32 * 2 ** 20;

/** Requests for the rest of a content whose transfer is interrupted, without a byte in between. */
const MAX_RESUMPTIONS = 3;

/**
 * Files as objects of a bucket. An object becomes visible as a whole when its upload is complete. An interrupted
 * transfer is continued from the byte it has reached. When the outcome of a write is unknown, its object may be there without
 * a record, as after a crash: the orphan sweep removes it. While the storage is down, writes and reads fail at once.
 */
export class ObjectStorage extends FileStorage implements OnApplicationShutdown {
  readonly service = 's3';
  readonly place: string;
  readonly objects: NamedObjects;

  private constructor(
    private readonly address: Address,
    private readonly dependency: Dependency,
    private readonly http: OutboundHttp,
    private readonly sdk: Sdk,
    private readonly client: S3Client,
    /** What DATA_DIR has kept from the time before STORAGE_URL was set; undefined where there is nothing. */
    private readonly formerFiles: FileStorage | undefined,
  ) {
    super();
    this.place = placeOf(address);
    this.objects = {
      get: (name) => this.get(name),
      put: (name, bytes) => this.put(name, bytes),
      write: (name, content) => this.upload(this.client, name, content, LARGE_PART_BYTES),
      read: (name) => this.contentOf(name, { start: 0, end: Infinity }),
      stat: (name) => this.stat(name),
      list: (prefix) => this.named(prefix),
      remove: (name) => this.delete(name),
    };
    dependency.probeWith(() => this.probe(), { everyMs: PROBE_EVERY_MS });
  }

  /** Loads the SDK, which takes 30 MB. Credentials are found at the first call, as the SDK finds them. */
  static async open(
    address: Address,
    outbound: Config['outbound'],
    dependency: Dependency,
    formerFiles?: FileStorage,
  ): Promise<ObjectStorage> {
    const sdk: Sdk = {
      ...(await import('@aws-sdk/client-s3')),
      ...(await import('@aws-sdk/lib-storage')),
    };
    // The operator names the address, so every host may be called.
    const http = new OutboundHttp({
      allowedPrivateHosts: ['*'],
      allowsHostServices: true,
      proxies: outbound.proxies,
      authorities: outbound.authorities,
    });
    const client = new sdk.S3Client({
      ...(address.endpoint !== undefined && { endpoint: address.endpoint }),
      ...(address.region !== undefined && { region: address.region }),
      forcePathStyle: address.pathStyle,
      requestHandler: s3Transport(http),
      // The signature covers the SHA-256 of a part. Further checksums are refused by servers other than Amazon's.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      expectContinueHeader: false,
      maxAttempts: 3,
    });
    return new ObjectStorage(address, dependency, http, sdk, client, formerFiles);
  }

  async onApplicationShutdown(): Promise<void> {
    this.client.destroy();
    await this.http.close();
  }

  async write(key: string, source: Readable, options: WriteOptions): Promise<WrittenFile> {
    const { limitBytes, signal } = options;
    const hash = createHash('sha256');
    let byteSize = 0;
    async function* measured(): AsyncGenerator<Buffer> {
      for await (const chunk of addAbortSignal(signal, source) as AsyncIterable<Buffer>) {
        byteSize += chunk.length;
        if (byteSize > limitBytes) throw new FileTooLargeError(limitBytes);
        hash.update(chunk);
        yield chunk;
      }
    }
    try {
      const name = this.fileName(key);
      this.assertUp();
      await this.upload(this.within(signal), name, Readable.from(measured()), PART_BYTES);
      return { byteSize, sha256: hash.digest('hex') };
    } finally {
      source.destroy();
    }
  }

  private async upload(
    client: S3Client,
    name: string,
    content: Readable,
    partSize: number,
  ): Promise<void> {
    const { Upload } = this.sdk;
    const params = { ...this.target(name), ...this.encryption(), Body: content };
    await new Upload({ client, params, partSize, queueSize: PARTS_AT_ONCE }).done();
  }

  async read(key: string, range: ByteRange = { start: 0, end: Infinity }): Promise<Readable> {
    const name = this.fileName(key);
    this.assertUp();
    if (range.start >= range.end) return Readable.from([]);
    const opened = await this.contentOf(name, range);
    if (!opened) {
      if (this.formerFiles) return this.formerFiles.read(key, range);
      throw new NotFoundError(msg`The file`);
    }
    let current = opened;
    const reopen = async (start: number): Promise<Readable> => {
      const rest = await this.contentOf(name, { start, end: range.end });
      if (!rest) throw new NotFoundError(msg`The file`);
      return (current = rest);
    };
    const stream = Readable.from(this.resumed(opened, range.start, reopen), { objectMode: false });
    // A stream that is destroyed before its first byte was read has not begun the iteration.
    return stream.once('close', () => current.destroy());
  }

  async remove(key: string): Promise<void> {
    await this.delete(this.fileName(key));
    await this.delete(QUARANTINE + key);
    await this.formerFiles?.remove(key);
  }

  /** The content stays where it is, so that nothing is copied: a mark beside it says that it is set aside. */
  async quarantine(key: string): Promise<void> {
    if (await this.stat(this.fileName(key))) await this.put(QUARANTINE + key, Buffer.alloc(0));
  }

  async restore(key: string): Promise<void> {
    assertFileKey(key);
    await this.delete(QUARANTINE + key);
  }

  async sizeOf(key: string): Promise<number | undefined> {
    const file = await this.stat(this.fileName(key));
    const isAside = file && (await this.stat(QUARANTINE + key));
    return isAside ? undefined : file?.byteSize;
  }

  async *list(prefix: string, before: Date): AsyncGenerator<string> {
    // Both lists are sorted by key.
    const marks = this.named(QUARANTINE + prefix);
    let mark = await marks.next();
    for await (const { name, writtenAt } of this.named(FILES + prefix)) {
      const key = name.slice(FILES.length);
      const markName = QUARANTINE + key;
      while (!mark.done && mark.value.name < markName) mark = await marks.next();
      const isAside = !mark.done && mark.value.name === markName;
      if (!isAside && writtenAt < before) yield key;
    }
  }

  async *listQuarantined(prefix: string, before: Date): AsyncGenerator<string> {
    for await (const { name, writtenAt } of this.named(QUARANTINE + prefix)) {
      if (writtenAt < before) yield name.slice(QUARANTINE.length);
    }
  }

  async removeUnfinished(before: Date): Promise<number> {
    const { ListMultipartUploadsCommand, AbortMultipartUploadCommand } = this.sdk;
    const { bucket: Bucket, prefix } = this.address;
    let removed = 0;
    let marker: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } | undefined;
    do {
      const list = { Bucket, Prefix: prefix + FILES, ...marker };
      const page = await this.send((client) => client.send(new ListMultipartUploadsCommand(list)));
      for (const { Key, UploadId, Initiated } of page?.Uploads ?? []) {
        if (!Initiated || Initiated >= before) continue;
        const upload = { Bucket, Key, UploadId };
        await this.send((client) => client.send(new AbortMultipartUploadCommand(upload)));
        removed += 1;
      }
      marker = page?.IsTruncated
        ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }
        : undefined;
    } while (marker);
    return removed;
  }

  /** The content with the rest of it from new requests after failures. */
  private async *resumed(
    opened: Readable,
    start: number,
    reopen: (start: number) => Promise<Readable>,
  ): AsyncGenerator<Buffer> {
    let body = opened;
    let position = start;
    for (let failures = 0; ;) {
      const beganAt = performance.now();
      try {
        for await (const chunk of body as AsyncIterable<Buffer>) {
          position += chunk.length;
          failures = 0;
          yield chunk;
        }
        return;
      } catch (error) {
        failures += 1;
        if (failures > MAX_RESUMPTIONS) throw this.outage(error, beganAt);
      }
      body = await reopen(position);
    }
  }

  /** Undefined where there is no object. Empty where it ends before the range. */
  private async contentOf(name: string, { start, end }: ByteRange): Promise<Readable | undefined> {
    const { GetObjectCommand } = this.sdk;
    const isWhole = start === 0 && end === Infinity;
    const range = `bytes=${start}-${end === Infinity ? '' : end - 1}`;
    const input = { ...this.target(name), ...(!isWhole && { Range: range }) };
    const answer = await this.send(async (client) => {
      try {
        return await client.send(new GetObjectCommand(input));
      } catch (error) {
        if (statusOf(error) === 416) return { Body: Readable.from([]) };
        throw error;
      }
    });
    return answer?.Body as Readable | undefined;
  }

  private async get(name: string): Promise<Buffer | undefined> {
    const content = await this.contentOf(name, { start: 0, end: Infinity });
    return content && (await this.send(() => buffer(content)));
  }

  private async put(name: string, bytes: Uint8Array): Promise<void> {
    const { PutObjectCommand } = this.sdk;
    const input = { ...this.target(name), ...this.encryption(), Body: bytes };
    await this.send((client) => client.send(new PutObjectCommand(input)));
  }

  private async stat(name: string): Promise<NamedObject | undefined> {
    const { HeadObjectCommand } = this.sdk;
    const head = await this.send((client) => client.send(new HeadObjectCommand(this.target(name))));
    if (!head) return undefined;
    return { name, byteSize: head.ContentLength ?? 0, writtenAt: head.LastModified ?? new Date() };
  }

  private async delete(name: string): Promise<void> {
    const { DeleteObjectCommand } = this.sdk;
    await this.send((client) => client.send(new DeleteObjectCommand(this.target(name))));
  }

  private async *named(prefix: string): AsyncGenerator<NamedObject> {
    const { ListObjectsV2Command } = this.sdk;
    const { bucket: Bucket, prefix: root } = this.address;
    let ContinuationToken: string | undefined;
    do {
      const input = { Bucket, Prefix: root + prefix, ContinuationToken };
      const page = await this.send((client) => client.send(new ListObjectsV2Command(input)));
      for (const { Key = '', Size = 0, LastModified = new Date() } of page?.Contents ?? []) {
        yield { name: Key.slice(root.length), byteSize: Size, writtenAt: LastModified };
      }
      ContinuationToken = page?.IsTruncated ? page.NextContinuationToken : undefined;
    } while (ContinuationToken !== undefined);
  }

  /** Probes with a write, because rights to read and to write differ. */
  private async probe(): Promise<void> {
    const { PutObjectCommand } = this.sdk;
    const input = { ...this.target(PROBE), ...this.encryption(), Body: 'probe' };
    const abortSignal = AbortSignal.timeout(PROBE_MS);
    try {
      await this.client.send(new PutObjectCommand(input), { abortSignal });
    } catch (error) {
      throw faultOf(error);
    }
  }

  /** Sends a request; undefined where the object is missing. UnavailableError for every other failure. */
  private async send<T>(call: (client: S3Client) => Promise<T>): Promise<T | undefined> {
    const beganAt = performance.now();
    try {
      const answer = await call(this.client);
      this.dependency.succeeded(beganAt);
      return answer;
    } catch (error) {
      if (isMissingObject(error)) return undefined;
      throw this.outage(error, beganAt);
    }
  }

  /** The client for one upload: its requests end with the signal, but not those that take its parts away. */
  private within(signal: AbortSignal): S3Client {
    const { AbortMultipartUploadCommand } = this.sdk;
    const send = async (command: Parameters<S3Client['send']>[0]): Promise<unknown> => {
      const beganAt = performance.now();
      const isCleaning = command instanceof AbortMultipartUploadCommand;
      try {
        const answer = await this.client.send(command, {
          abortSignal: isCleaning ? AbortSignal.timeout(PROBE_MS) : signal,
        });
        this.dependency.succeeded(beganAt);
        return answer;
      } catch (error) {
        // The error that ended the upload is the one to report; the orphan sweep takes the parts away later.
        if (isCleaning) return undefined;
        signal.throwIfAborted();
        throw this.outage(error, beganAt);
      }
    };
    return Object.assign(Object.create(this.client) as S3Client, { send });
  }

  private assertUp(): void {
    if (!this.dependency.isUp) throw new UnavailableError(msg`The file storage`);
  }

  private outage(error: unknown, beganAt: number): UnavailableError {
    if (error instanceof UnavailableError) return error;
    const fault = faultOf(error);
    this.dependency.failed(fault, beganAt);
    return new UnavailableError(msg`The file storage`, fault);
  }

  private fileName(key: string): string {
    assertFileKey(key);
    return FILES + key;
  }

  private target(name: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.address.bucket, Key: this.address.prefix + name };
  }

  private encryption() {
    const { encryption, kmsKey } = this.address;
    return {
      ...(encryption !== undefined && { ServerSideEncryption: encryption }),
      ...(kmsKey !== undefined && { SSEKMSKeyId: kmsKey }),
    };
  }
}

/** As an operator has entered it, without the parameters. */
function placeOf({ bucket, prefix }: Address): string {
  return `STORAGE_URL s3://${bucket}/${prefix}`.replace(/\/$/, '');
}

function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
}

/** A missing bucket is answered with 404 as well. */
function isMissingObject(error: unknown): boolean {
  return statusOf(error) === 404 && (error as Error).name !== 'NoSuchBucket';
}

/** Error codes of Amazon S3 ("Error responses" of its API reference), and of the SDK, with what an operator can do. */
const REASONS: readonly (readonly [names: RegExp, reason: Message])[] = [
  [
    /^NoSuchBucket$/,
    msg`The bucket of STORAGE_URL does not exist. Create it, or correct STORAGE_URL.`,
  ],
  [
    /^(ExpiredToken|TokenRefreshRequired|ExpiredTokenException)$/,
    msg`The credentials of the object storage have expired. Renew them, or give the process a role whose credentials are renewed.`,
  ],
  [
    /^(CredentialsProviderError|TokenProviderError)$/,
    msg`No credentials of the object storage were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_SHARED_CREDENTIALS_FILE, or give the process a role.`,
  ],
  [
    /^(InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|AuthFailure)$/,
    msg`The object storage does not know the credentials of this process. Correct them.`,
  ],
  [
    /^(PermanentRedirect|TemporaryRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraintException)$/,
    msg`The bucket of STORAGE_URL is in another region or at another endpoint. Set its parameters region and endpoint.`,
  ],
  [
    /^(SlowDown|ServiceUnavailable|TooManyRequestsException|ThrottlingException|RequestLimitExceeded)$/,
    msg`The object storage accepts fewer requests at the moment. If that lasts, raise its limits.`,
  ],
  [
    /^(RequestTimeTooSkewed|RequestExpired)$/,
    msg`The clock of this machine differs from that of the object storage. Correct it.`,
  ],
  [
    /^(KMS\.|InvalidEncryption)/,
    msg`The object storage cannot use the key of STORAGE_URL. Check kmsKey and the rights to it.`,
  ],
  [
    /Quota|StorageFull|^EntityTooLarge$/,
    msg`The object storage is full. Make room, or raise its quota.`,
  ],
  [
    /^(AccessDenied|Forbidden|AllAccessDisabled|403)$/,
    msg`The credentials of this process have no right to the bucket of STORAGE_URL. They need the rights that docs/OPERATIONS.md lists.`,
  ],
];

/** The failure with what an operator can do, without an address or a name of an object. */
function faultOf(error: unknown): DependencyFault {
  if (error instanceof DependencyFault) return error;
  if (error instanceof OutboundError && error.kind !== 'redirect') {
    return new DependencyFault(msg`The object storage failed. ${error.userMessage}`, error);
  }
  const name =
    error instanceof OutboundError ? 'PermanentRedirect' : error instanceof Error ? error.name : '';
  const names = [name, String(statusOf(error) ?? '')];
  const reason = REASONS.find(([pattern]) => names.some((one) => pattern.test(one)))?.[1];
  return new DependencyFault(
    reason ?? msg`The object storage answered with an error (${name || 'unknown'}).`,
    error,
  );
}
