import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { S3Client } from '@aws-sdk/client-s3';
import { DomainError } from '../platform/error/index.js';
import { OutboundHttp } from '../platform/outbound/index.js';
import { s3Transport } from '../platform/storage/index.js';
import { accessKeyOf, bucketAddress, matcherOf, prefixOf } from './files.js';
import { DEFAULT_PAGES } from './source.dto.js';
import type { SourceSettings } from './source.entity.js';
import { BucketError } from './source.errors.js';
import { SourceRepository } from './source.repository.js';
import { SourceService } from './source.service.js';
import type { ConnectorRun } from './source.service.js';

const NO_KEY = { accessKeyId: '', secretAccessKey: '' };

interface Bucket {
  readonly client: S3Client;
  readonly name: string;
}

interface BucketFile {
  readonly key: string;
  /** The key below the folder of the source. */
  readonly path: string;
  readonly etag: string;
}

/** Puts the files of a bucket. The etag of a document is that of its object. */
@Injectable()
export class S3Connector {
  constructor(
    private readonly sources: SourceService,
    private readonly http: OutboundHttp,
    private readonly repository: SourceRepository,
  ) {}

  /** False if a limit has left files out. */
  async run(work: ConnectorRun): Promise<boolean> {
    const { settings } = work.source;
    const { maxPages = DEFAULT_PAGES } = settings;
    const bucket = await this.open(work);
    try {
      let count = 0;
      for await (const file of this.files(bucket, settings, work.signal)) {
        count += 1;
        if (count > maxPages) return false;
        await this.put(work, bucket, file);
      }
      return true;
    } finally {
      bucket.client.destroy();
    }
  }

  /** Loads the SDK, which takes 30 MB. Never uses the credentials of this process: without a token it asks without a signature. */
  private async open({ source }: ConnectorRun): Promise<Bucket> {
    const { tenantId, id, secret, settings } = source;
    const token = secret === null ? undefined : this.repository.tokens.open(tenantId, id, secret);
    const { S3Client } = await import('@aws-sdk/client-s3');
    const { endpoint, region, bucket } = bucketAddress(settings.address ?? '');
    const client = new S3Client({
      ...{ endpoint, region, forcePathStyle: true, maxAttempts: 3 },
      requestHandler: s3Transport(this.http),
      ...(token === undefined
        ? { credentials: NO_KEY, signer: { sign: (request) => Promise.resolve(request) } }
        : { credentials: accessKeyOf(token) }),
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    });
    return { client, name: bucket };
  }

  /** The objects that belong to the source, by their keys. */
  private async *files(
    { client, name: Bucket }: Bucket,
    { folder = '', patterns = [] }: SourceSettings,
    abortSignal: AbortSignal,
  ): AsyncGenerator<BucketFile> {
    const { ListObjectsV2Command } = await import('@aws-sdk/client-s3');
    const Prefix = prefixOf(folder);
    const matches = matcherOf(patterns);
    let ContinuationToken: string | undefined;
    do {
      const command = new ListObjectsV2Command({ Bucket, Prefix, ContinuationToken });
      const page = await readable(client.send(command, { abortSignal }), abortSignal);
      for (const { Key: key = '', ETag: etag = '' } of page.Contents ?? []) {
        const path = key.slice(Prefix.length);
        // Consoles of storages show folders by objects whose keys end with a slash.
        const isFile = path !== '' && !path.endsWith('/');
        if (isFile && matches(path)) yield { key, path, etag };
      }
      ContinuationToken = page.IsTruncated ? page.NextContinuationToken : undefined;
    } while (ContinuationToken !== undefined);
  }

  private async put(
    work: ConnectorRun,
    { client, name: Bucket }: Bucket,
    { key, path, etag }: BucketFile,
  ): Promise<void> {
    const { signal: abortSignal } = work;
    const name = path.split('/').at(-1);
    const item = { externalId: path, name, etag, metadata: { path: `/${key}` } };
    await this.sources.putFile(work, item, async () => {
      const { GetObjectCommand } = await import('@aws-sdk/client-s3');
      const command = new GetObjectCommand({ Bucket, Key: key });
      const { Body } = await readable(client.send(command, { abortSignal }), abortSignal);
      return Body instanceof Readable ? Body : Readable.from([]);
    });
  }
}

/** BucketError for what the server refuses. */
async function readable<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof DomainError) throw error;
    throw new BucketError(error instanceof Error ? error.name : 'unknown', error);
  }
}
