import picomatch from 'picomatch';
import { InvalidBucketError, InvalidKeysError } from './source.errors.js';

/** Whether a path below the folder of a source belongs to it. */
export function matcherOf(patterns: readonly string[]): (path: string) => boolean {
  return patterns.length === 0 ? () => true : picomatch([...patterns], { dot: true });
}

/** What the paths of a source begin with. */
export function prefixOf(folder: string): string {
  return folder === '' ? '' : `${folder}/`;
}

/** The region in the host names of Amazon S3 and of others, such as s3.eu-central-1.amazonaws.com. */
const REGION = /^s3[.-]([a-z0-9-]+)\..+\./;
const DEFAULT_REGION = 'us-east-1';

/** Server, region and bucket of an address such as https://s3.eu-central-1.amazonaws.com/handbook. Throws InvalidBucketError. */
export function bucketAddress(address: string): {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
} {
  const { origin, hostname, pathname, searchParams } = new URL(address);
  const bucket = pathname.replace(/^\/|\/$/g, '');
  if (!/^[a-z0-9][a-z0-9._-]*$/i.test(bucket)) throw new InvalidBucketError();
  const region = searchParams.get('region') ?? REGION.exec(hostname)?.[1] ?? DEFAULT_REGION;
  return { endpoint: origin, region, bucket };
}

/** The access key of a token. Throws InvalidKeysError for what is not an id and a secret. */
export function accessKeyOf(token: string): {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
} {
  const [, accessKeyId, secretAccessKey] = /^([^\s:]+):(\S+)$/.exec(token) ?? [];
  if (accessKeyId === undefined || secretAccessKey === undefined) throw new InvalidKeysError();
  return { accessKeyId, secretAccessKey };
}
