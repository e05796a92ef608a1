import { randomBytes } from 'node:crypto';
import { createServer, request as httpRequest } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { variables } from '../../src/platform/config/index.js';
import type { Config } from '../../src/platform/config/index.js';

/** A server that speaks the protocol of S3; without one its suites are skipped (docs/TESTING.md). */
export const s3Server = process.env['PLINTH_S3'] ?? '';
if (s3Server === '') process.stdout.write('Skipped: PLINTH_S3 names no S3 server.\n');

/** Where the AWS SDK of the tests finds its credentials. */
export const s3Credentials = { AWS_ACCESS_KEY_ID: 'plinth', AWS_SECRET_ACCESS_KEY: 'plinth-test' };

/** A bucket of the server that is the test's own. */
export class TestBucket {
  private readonly client: S3Client;

  private constructor(private readonly bucket: string) {
    const region = 'us-east-1';
    this.client = new S3Client({ endpoint: s3Server, region, forcePathStyle: true });
  }

  static async make(): Promise<TestBucket> {
    // In each suite: the runner gives the process its variables back after each file, while this module stays loaded.
    Object.assign(process.env, s3Credentials);
    const made = new TestBucket(`plinth-${randomBytes(6).toString('hex')}`);
    await made.client.send(new CreateBucketCommand({ Bucket: made.bucket }));
    return made;
  }

  /** STORAGE_URL of a prefix in the bucket, at this or another address of the server. */
  url(endpoint = s3Server, more = ''): string {
    return `s3://${this.bucket}/tests?endpoint=${encodeURIComponent(endpoint)}&pathStyle=true${more}`;
  }

  /** The server with the name of the bucket. */
  get address(): string {
    return `${s3Server}/${this.bucket}`;
  }

  async put(key: string, text: string): Promise<void> {
    await this.client.send(
      new PutObjectCommand({ Bucket: this.bucket, Key: key, Body: Buffer.from(text) }),
    );
  }

  async remove(key: string): Promise<void> {
    await this.client.send(new DeleteObjectCommand({ Bucket: this.bucket, Key: key }));
  }

  /** Names of all objects, and of uploads that are not complete. */
  async names(): Promise<string[]> {
    const target = { Bucket: this.bucket };
    const { Contents = [] } = await this.client.send(new ListObjectsV2Command(target));
    const { Uploads = [] } = await this.client.send(new ListMultipartUploadsCommand(target));
    return [...Contents, ...Uploads].map(({ Key = '' }) => Key).filter((key) => !isProbe(key));
  }

  close(): void {
    this.client.destroy();
  }
}

function isProbe(key: string): boolean {
  return key.endsWith('/probe');
}

/** The parsed form of a STORAGE_URL. */
export function storageAddress(url: string): NonNullable<Config['STORAGE_URL']> {
  const address = variables.STORAGE_URL.schema.parse(url);
  if (!address) throw new Error('The address is empty.');
  return address;
}

/** Answers a request instead of the server, or says false. */
export type Fault = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Forwards requests to the S3 server, but for those that a fault answers. The host stays, because it is signed. */
export class FaultyServer {
  fault: Fault = () => false;
  private readonly server: Server;

  constructor() {
    this.server = createServer((request, response) => {
      if (this.fault(request, response)) return;
      const { method, url, headers } = request;
      const { hostname, port } = new URL(s3Server);
      const forwarded = httpRequest({ hostname, port, method, path: url, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      forwarded.on('error', () => response.destroy());
      request.pipe(forwarded);
    });
  }

  async listen(port = 0): Promise<string> {
    await new Promise<void>((done) => this.server.listen(port, '127.0.0.1', done));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise((done) => this.server.close(done));
    this.server.closeAllConnections();
    await closed;
  }
}

/** The XML and status of "Error responses" of the Amazon S3 API reference (2026-11). */
export function refusal(status: number, code: string): Fault {
  return (request, response) => {
    request.resume();
    response.writeHead(status, { 'content-type': 'application/xml' });
    response.end(
      `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>m</Message><RequestId>1</RequestId></Error>`,
    );
    return true;
  };
}
