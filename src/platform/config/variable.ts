import { posix } from 'node:path';
import { z } from 'zod';

/** One environment variable: how its text is read, and what docs/CONFIGURATION.md says about it. */
export interface Variable<T = unknown> {
  readonly schema: z.ZodType<T>;
  readonly description: string;
  readonly example: string;
  /** Used when the variable is unset or blank. Without a default the variable is undefined if the schema allows it. */
  readonly default?: string;
  /** Whether the value is secret, so that neither errors nor logs print it. */
  readonly secret?: boolean;
  /** Whether the variable is also read under its name in lower case, which wins, as in curl. */
  readonly lowerCase?: boolean;
}

export function variable<T>(schema: z.ZodType<T>, about: Omit<Variable<T>, 'schema'>): Variable<T> {
  return { schema, ...about };
}

export const text = z.string().min(1);
/** A key that is sent in a header of HTTP: only these characters can be. */
const headerValue = z
  .string()
  .regex(/^[\x20-\x7e\xa0-\xff]+$/, 'must hold no control character and none outside Latin-1');
export const optionalHeaderValue = headerValue.optional();
/** A header of HTTP with its name (RFC 9110, 5.1). */
export const optionalHeader = headerValue
  .regex(/^[\w!#$%&'*+.^`|~-]+:\s*\S/, 'must be name: value')
  .optional();

export const wholeNumber = (min: number, max: number): z.ZodType<number> =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine((n) => n >= min && n <= max, `must be between ${min} and ${max}`);

/** A number from 0 to 1. */
export const share: z.ZodType<number> = z
  .string()
  .regex(/^(0?\.\d+|[01](\.0+)?)$/, 'must be a number from 0 to 1')
  .transform(Number);

export const onOff: z.ZodType<boolean> = z
  .enum(['on', 'off', 'true', 'false', '1', '0'], { error: 'must be on or off' })
  .transform((word) => ['on', 'true', '1'].includes(word));

export const commaList: z.ZodType<string[]> = z.string().transform((list) =>
  list
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== ''),
);

/** Pairs such as `key=value,other=value`, with values percent-encoded, as OpenTelemetry writes headers and attributes. */
export const keyValueList: z.ZodType<Record<string, string>> = commaList.transform(
  (entries, context) => {
    const pairs = entries.map((entry) => /^([^=\s]+)\s*=(.*)$/.exec(entry));
    try {
      return Object.fromEntries(
        pairs.map((pair) => {
          const [, key = '', value = ''] = pair ?? [];
          if (key === '') throw new Error('No key.');
          return [key, decodeURIComponent(value.trim())];
        }),
      );
    } catch {
      context.addIssue('must be pairs such as key=value with commas between them');
      return z.NEVER;
    }
  },
);

/** A folder that belongs to a tenant. */
export interface TenantFolder {
  readonly tenantId: string;
  /** Absolute. */
  readonly path: string;
}

/** The first tenant of every installation. */
const FIRST_TENANT = '000000';

/** A comma list of `tenantId=/folder`, or `/folder` for the first tenant. No folder lies in one of another tenant. */
export const tenantFolders: z.ZodType<TenantFolder[]> = commaList
  .pipe(
    z.array(
      z
        .string()
        .regex(/^([\w-]{1,20}=)?\/./, 'must be absolute folders, each after its tenant id and =')
        .transform((entry): TenantFolder => {
          const [, tenantId = FIRST_TENANT, path = ''] = /^(?:([\w-]+)=)?(.*)$/.exec(entry) ?? [];
          return { tenantId, path: posix.resolve(path) };
        }),
    ),
  )
  .refine(
    (folders) =>
      folders.every(({ tenantId, path }) =>
        folders.every(
          (other) => other.tenantId === tenantId || !`${path}/`.startsWith(`${other.path}/`),
        ),
      ),
    'must not nest the folder of one tenant in that of another',
  );

const hostName = z
  .string()
  .toLowerCase()
  .regex(/^[a-z\d-]+(\.[a-z\d-]+)+$/, 'must be host names, without https:// and port');

/** Languages of tesseract, such as eng or chi_sim+eng. */
export const tesseractLanguages = z
  .string()
  .regex(/^[a-zA-Z]\w*(\+[a-zA-Z]\w*)*$/, 'must be languages of tesseract with + between them');

/** Two host names. */
export const hostPair: z.ZodType<[string, string]> = commaList.pipe(
  z.tuple([hostName, hostName], { error: 'must be two host names with a comma between them' }),
);

export const address = (...protocols: string[]): z.ZodType<string> =>
  z
    .string()
    .refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
      error: `must be an address starting with ${protocols.map((p) => `${p}//`).join(' or ')}`,
      abort: true,
    })
    .refine(hasReadableCredentials, 'must have % as %25 in its user name and password');

function hasReadableCredentials(value: string): boolean {
  try {
    const { username, password } = new URL(value);
    decodeURIComponent(`${username}:${password}`);
    return true;
  } catch {
    return false;
  }
}

export const url = (...protocols: string[]): z.ZodType<string | undefined> =>
  address(...protocols).optional();

/** The address of an HTTP proxy; `http://` may be left out. */
export const proxyAddress: z.ZodType<string | undefined> = z
  .string()
  .transform((value) => (value.includes('://') ? value : `http://${value}`))
  .refine((value) => isProxy(value), 'must be an address starting with http:// or https://')
  .refine(hasReadableCredentials, 'must have % as %25 in its user name and password')
  .optional();

function isProxy(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && ['http:', 'https:'].includes(url.protocol) && url.hostname !== '';
}

/** Host names, `.suffix`, `*.suffix`, IP addresses and CIDRs, each with an optional port, or `*`. */
export const hostList: z.ZodType<string[]> = z
  .string()
  .transform((list) => list.split(/[\s,]+/).filter((entry) => entry !== ''))
  .pipe(
    z.array(
      z
        .string()
        .regex(
          /^(\*|\*?\.?[\p{L}\p{N}._-]+(\/\d{1,3})?|\[?[\da-fA-F:.]*:[\da-fA-F:.]*(\/\d{1,3})?\]?)(:\d{1,5})?$/u,
          'must be host names, IP addresses or CIDRs, each with an optional port, without https://',
        ),
    ),
  );

/** An address to which paths are appended: without query, fragment, user name and final slash. */
export const baseAddress: z.ZodType<string> = address('http:', 'https:')
  .transform((value) => new URL(value))
  .refine(
    ({ search, hash, username, password }) => search + hash + username + password === '',
    'must have no user name, query or fragment',
  )
  .transform(({ href }) => href.replace(/\/+$/, ''));

/** A minute in seconds. */
export const MINUTE = 60;

/** A time in whole seconds, from 1 on. */
export const seconds = (
  value: number,
  description: string,
  max = 24 * 60 * MINUTE,
): Variable<number> =>
  variable(wholeNumber(1, max), {
    default: String(value),
    example: String(value),
    description: `${description} (seconds)`,
  });

/** A whole number from 1 on. */
export const count = (value: number, description: string, max = 1_000_000): Variable<number> =>
  variable(wholeNumber(1, max), {
    default: String(value),
    example: String(value),
    description,
  });

/** A bucket of an object storage that speaks the protocol of Amazon S3. */
export interface ObjectStorageAddress {
  readonly bucket: string;
  /** Prefix of every name, empty or with a slash at its end. */
  readonly prefix: string;
  /** The server; undefined for Amazon S3. */
  readonly endpoint?: string | undefined;
  /** Undefined for that of the environment. */
  readonly region?: string | undefined;
  /** Whether the bucket is in the path of an address, and not in its host name. */
  readonly pathStyle: boolean;
  readonly encryption?: 'AES256' | 'aws:kms' | 'aws:kms:dsse' | undefined;
  readonly kmsKey?: string | undefined;
}

const bucketQuery = z.strictObject({
  endpoint: z
    .string()
    .refine((value) => /^https?:$/.test(URL.parse(value)?.protocol ?? ''), {
      error: 'endpoint must be an address starting with http:// or https://',
    })
    .optional(),
  region: z
    .string()
    .regex(/^[\w-]+$/, 'region must be a name such as eu-central-1')
    .optional(),
  pathStyle: z.enum(['true', 'false'], { error: 'pathStyle must be true or false' }).optional(),
  sse: z
    .enum(['AES256', 'aws:kms', 'aws:kms:dsse'], {
      error: 'sse must be AES256, aws:kms or aws:kms:dsse',
    })
    .optional(),
  kmsKey: z.string().min(1).optional(),
});

/** `s3://bucket/prefix?endpoint=…&region=…&pathStyle=true&sse=aws:kms&kmsKey=…` */
export const bucketAddress: z.ZodType<ObjectStorageAddress> = z
  .string()
  .transform((value, context): ObjectStorageAddress => {
    const fail = (message: string): never => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    const [, bucket, path = '', query = ''] =
      /^s3:\/\/([a-z\d][a-z\d.-]{1,61}[a-z\d])(?:\/([\w./-]*))?(?:\?(.*))?$/.exec(value) ?? [];
    if (bucket === undefined) {
      return fail(
        'must be s3:// with the name of a bucket, then a prefix of letters, digits and . _ - /; credentials are not part of it',
      );
    }
    const parameters = bucketQuery.safeParse(Object.fromEntries(new URLSearchParams(query)));
    if (!parameters.success) {
      return fail(parameters.error.issues.map(({ message }) => message).join(', '));
    }
    const { endpoint, region, pathStyle, sse, kmsKey } = parameters.data;
    if (kmsKey !== undefined && !sse?.startsWith('aws:kms')) {
      return fail('kmsKey needs sse=aws:kms or aws:kms:dsse');
    }
    const names = path.split('/').filter((name) => name !== '');
    if (names.some((name) => name === '.' || name === '..')) {
      return fail('must have no . or .. in its prefix');
    }
    return {
      bucket,
      prefix: names.map((name) => `${name}/`).join(''),
      endpoint,
      // Servers other than Amazon's mostly have no regions, but a signature names one.
      region: region ?? (endpoint === undefined ? undefined : 'us-east-1'),
      pathStyle: pathStyle === 'true',
      encryption: sse,
      kmsKey,
    };
  });
