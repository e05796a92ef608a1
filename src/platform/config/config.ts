import { createHash, hkdfSync, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { z } from 'zod';
import { ConfigError } from './config-error.js';
import { variables } from './config.schema.js';
import { closeDataDir, dataDirProblem } from './data-dir.js';
import { generatedSecret } from './generated-secret.js';
import type { Variable } from './variable.js';

type Values = {
  readonly [Name in keyof typeof variables]: z.output<(typeof variables)[Name]['schema']>;
};

/**
 * The validated configuration, one property per variable plus what follows from them.
 * The only reader of the environment; secrets are hidden from inspection and JSON.
 */
export interface Config extends Values {
  /** True when no DATABASE_URL is set: the store, queue and files live in DATA_DIR. */
  readonly embedded: boolean;
  /** Whether this process runs the offline demo. A worker never does: the demo has one simulator. */
  readonly demo: boolean;
  /** How long a stopping process still serves requests. A worker serves none; nothing balances the embedded store's one. */
  readonly drainSeconds: number;
  readonly allowedPrivateHosts: readonly string[];
  /** How outgoing calls leave the network. */
  readonly outbound: {
    readonly proxies: {
      readonly httpsProxy?: string | undefined;
      readonly httpProxy?: string | undefined;
      readonly noProxy: readonly string[];
    };
    readonly allowedHosts?: readonly string[] | undefined;
    /** Certificates (PEM) of further authorities; undefined for those of Node.js alone. */
    readonly authorities?: readonly string[] | undefined;
  };
  /** 32 bytes that encrypt stored credentials, and those of SECRET_KEY_PREVIOUS where given. */
  readonly encryptionKeys: { readonly current: Buffer; readonly previous?: Buffer };
  /** 32 bytes that sign login tokens. */
  readonly tokenKey: Buffer;
  /** Every text that must never leave the service; used to mask output. */
  readonly secrets: readonly string[];
}

/** Drain time, longer than the interval at which load balancers usually probe. */
const DRAIN_SECONDS = 5;

/** Injection token of the Config interface. */
export const CONFIG = Symbol('Config');

/**
 * Reads and checks every variable. Throws ConfigError naming all invalid ones. Closes DATA_DIR to other users of the host,
 * and generates DATA_DIR/secret.key where needed.
 */
export function loadConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const values = readValues(environment);
  const embedded = values.DATABASE_URL === undefined;
  const dataDir = resolve(values.DATA_DIR);
  if (!embedded && values.SECRET_KEY === undefined) {
    throw new ConfigError(
      `SECRET_KEY is required when DATABASE_URL is set, so that every process decrypts the same credentials. Example: ${variables.SECRET_KEY.example}`,
    );
  }
  if (embedded && values.ROLE !== 'all') {
    throw new ConfigError(
      `ROLE "${values.ROLE}" needs DATABASE_URL: the embedded database serves one process, which does everything. Set DATABASE_URL, or leave ROLE out. Example: ${variables.DATABASE_URL.example}`,
    );
  }
  const secret = inDataDir(dataDir, () => {
    closeDataDir(dataDir, embedded);
    return values.SECRET_KEY ?? generatedSecret(dataDir);
  });
  const config: Config = {
    ...values,
    DATA_DIR: dataDir,
    embedded,
    demo: values.ROLE !== 'worker' && (values.DEMO ?? embedded),
    drainSeconds:
      values.ROLE === 'worker'
        ? 0
        : (values.SHUTDOWN_DRAIN_SECONDS ?? (embedded ? 0 : DRAIN_SECONDS)),
    allowedPrivateHosts: values.ALLOW_PRIVATE_MODEL_HOSTS ?? (embedded ? ['*'] : []),
    outbound: {
      proxies: {
        httpsProxy: values.HTTPS_PROXY,
        httpProxy: values.HTTP_PROXY,
        noProxy: values.NO_PROXY,
      },
      allowedHosts: values.OUTBOUND_ALLOWED_HOSTS,
      authorities: authorities(values),
    },
    encryptionKeys: {
      current: keyFrom(secret, 'credentials'),
      ...(values.SECRET_KEY_PREVIOUS && {
        previous: keyFrom(values.SECRET_KEY_PREVIOUS, 'credentials'),
      }),
    },
    tokenKey: keyFrom(values.JWT_SECRET ?? secret, 'tokens'),
    secrets: [secret, ...secretTexts(values)],
  };
  return hideSecrets(config);
}

function readValues(environment: Readonly<Record<string, string | undefined>>): Values {
  const problems: string[] = [];
  const entries = Object.entries<Variable>(variables).map(([name, about]) => {
    const lowerCase = about.lowerCase ? environment[name.toLowerCase()]?.trim() : undefined;
    const text = lowerCase || environment[name]?.trim();
    const file = about.secret ? environment[`${name}_FILE`]?.trim() : undefined;
    const value = (file ? secretFrom(name, file, text, problems) : text) || about.default;
    const result = about.schema.safeParse(value);
    if (result.success) return [name, result.data];
    const displayedValue = about.secret ? '(hidden)' : `"${value ?? ''}"`;
    const problem = result.error.issues.map((issue) => issue.message).join(', ');
    problems.push(`${name} ${displayedValue}: ${problem}. Example: ${about.example}`);
    return [name, undefined];
  });
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return Object.fromEntries(entries) as Values;
}

/** The content of the file that NAME_FILE names, without its last line end. */
function secretFrom(
  name: string,
  file: string,
  text: string | undefined,
  problems: string[],
): string | undefined {
  if (text) problems.push(`${name} and ${name}_FILE are both set. Leave one of them out.`);
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    problems.push(`${name}_FILE "${file}" cannot be read: ${(error as Error).message}`);
    return undefined;
  }
}

function inDataDir<T>(dataDir: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof ConfigError || !(error instanceof Error)) throw error;
    throw new ConfigError(dataDirProblem(dataDir, error));
  }
}

/** The authorities of OUTBOUND_CA_FILE; undefined without one. */
function authorities({ OUTBOUND_CA_FILE: path }: Values): string[] | undefined {
  return path === undefined ? undefined : certificatesIn(path);
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function certificatesIn(path: string): string[] {
  let certificates: string[];
  try {
    certificates = readFileSync(path, 'utf8').match(CERTIFICATE) ?? [];
    for (const certificate of certificates) new X509Certificate(certificate);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`OUTBOUND_CA_FILE "${path}" cannot be read as certificates: ${reason}`);
  }
  if (certificates.length > 0) return certificates;
  throw new ConfigError(
    `OUTBOUND_CA_FILE "${path}" holds no certificate. It must be a PEM file with -----BEGIN CERTIFICATE-----.`,
  );
}

/** The secret variables that are set, and the passwords in addresses. */
function secretTexts(values: Values): string[] {
  const secretVariables = Object.entries<Variable>(variables).filter(([, about]) => about.secret);
  return secretVariables.flatMap(([name]) => {
    const value: unknown = values[name as keyof Values];
    if (typeof value === 'object' && value !== null) return Object.values(value).map(String);
    if (typeof value !== 'string') return [];
    const password = URL.canParse(value) ? new URL(value).password : '';
    return password === '' ? [value] : [value, password, decodeURIComponent(password)];
  });
}

/** HKDF (RFC 5869) separates the keys, so that a token key never decrypts a credential. */
function keyFrom(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, 'plinth', purpose, 32));
}

/** Names a key without revealing it: the first 8 hex digits of its SHA-256. */
export function keyId(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8);
}

function hideSecrets(config: Config): Config {
  const secretNames = Object.entries<Variable>(variables)
    .filter(([, about]) => about.secret)
    .map(([name]) => name);
  for (const name of [...secretNames, 'outbound', 'encryptionKeys', 'tokenKey', 'secrets']) {
    Object.defineProperty(config, name, { enumerable: false });
  }
  return Object.freeze(config);
}
