import { z } from 'zod';
import {
  address,
  baseAddress,
  bucketAddress,
  commaList,
  count,
  hostList,
  hostPair,
  keyValueList,
  MINUTE,
  onOff,
  optionalHeader,
  optionalHeaderValue,
  proxyAddress,
  seconds,
  share,
  tenantFolders,
  tesseractLanguages,
  text,
  url,
  variable,
  wholeNumber,
} from './variable.js';
import type { Variable } from './variable.js';

const TRACE_SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/**
 * Every variable that Plinth reads. The tables of docs/CONFIGURATION.md are generated from here.
 * A secret has no default: it is set, or generated once in DATA_DIR.
 */
export const variables = {
  PORT: variable(wholeNumber(0, 65_535), {
    default: '6039',
    example: '6039',
    description: 'Port of the HTTP server; 0 for any free port',
  }),
  HOST: variable(text, {
    default: '127.0.0.1',
    example: '0.0.0.0',
    description: 'Address the HTTP server listens on; 0.0.0.0 opens it to the network',
  }),
  ROLE: variable(z.enum(['all', 'api', 'worker'], { error: 'must be all, api or worker' }), {
    default: 'all',
    example: 'worker',
    description:
      'What the process does: api answers HTTP, worker runs the jobs, all does both; api and worker need DATABASE_URL',
  }),
  WORKER_PORT: variable(wholeNumber(0, 65_535).optional(), {
    example: '6040',
    description:
      'Port at HOST on which ROLE=worker answers /health and /metrics and nothing else; unset: none',
  }),
  DATA_DIR: variable(text, {
    default: './data',
    example: '/var/lib/plinth',
    description:
      'Folder of the embedded database, uploaded files and generated keys; closed to other users of the host at the start',
  }),
  DATABASE_URL: variable(url('postgres:', 'postgresql:'), {
    example: 'postgres://plinth:password@db:5432/plinth',
    description: 'PostgreSQL 15 or newer; unset means the embedded database in DATA_DIR',
    secret: true,
  }),
  STORAGE_URL: variable(bucketAddress.optional(), {
    example: 's3://plinth/production?region=eu-central-1',
    description:
      'Object storage of uploaded files and of kept contents of the harness, as s3://bucket/prefix with the parameters endpoint, region, pathStyle=true, sse (AES256, aws:kms, aws:kms:dsse) and kmsKey; credentials from the environment, files or role of the process as the AWS SDK finds them; unset: DATA_DIR',
  }),
  INSTALLATION_RENEW: variable(z.uuid('must be the id of an installation').optional(), {
    example: '018f6a2e-0000-7000-8000-000000000000',
    description:
      'The present id of the installation, as a refused start or the log names it: this start gives the database and its file storage a new one. While it is set, collections in Qdrant that are marked with this id, or have no mark, are taken over: remove it after the start',
  }),
  DATABASE_POOL_SIZE: count(20, 'Connections to PostgreSQL per process', 1_000),
  REDIS_URL: variable(url('redis:', 'rediss:'), {
    example: 'redis://redis:6379',
    description:
      'Redis for jobs, events and rate limits shared by several processes; unset: in process',
    secret: true,
  }),
  REDIS_PREFIX: variable(text.regex(/^[\w-]{1,64}$/, 'must be letters, digits, _ and - only'), {
    default: 'plinth',
    example: 'plinth-staging',
    description:
      'Prefix of every key and channel in Redis; one per installation that shares a Redis',
  }),
  QDRANT_URL: variable(url('http:', 'https:'), {
    example: 'http://qdrant:6333',
    description: 'Qdrant 1.15 or newer as vector store; unset: the relational store',
  }),
  QDRANT_API_KEY: variable(optionalHeaderValue, {
    example: 'a long random text',
    description: 'Key for QDRANT_URL',
    secret: true,
  }),
  QDRANT_PREFIX: variable(
    text.regex(/^[\w-]{1,64}$/, 'must be letters, digits, _ and - only').optional(),
    {
      example: 'plinth-staging',
      description:
        'Prefix of every collection name in Qdrant; unset: plinth- and the id of the installation, or plinth where it was started before this was the default',
    },
  ),
  EXACT_VECTOR_MEMORY_MB: count(
    512,
    'The exact vector store: memory per process for searched vectors, and the limit of one knowledge base (MiB)',
  ),
  SECRET_KEY: variable(z.string().min(32, 'must have at least 32 characters').optional(), {
    example: 'the output of: openssl rand -base64 32',
    description:
      'Encrypts stored credentials; required with DATABASE_URL, else generated once in DATA_DIR/secret.key',
    secret: true,
  }),
  SECRET_KEY_PREVIOUS: variable(z.string().min(32, 'must have at least 32 characters').optional(), {
    example: 'the SECRET_KEY before the last change',
    description: 'The former key: decrypts what it encrypted, which the next start re-encrypts',
    secret: true,
  }),
  JWT_SECRET: variable(z.string().min(32, 'must have at least 32 characters').optional(), {
    example: 'the output of: openssl rand -base64 32',
    description: 'Signs login tokens; default: a key derived from SECRET_KEY',
    secret: true,
  }),
  BACKUP_KEY: variable(z.string().min(16, 'must have at least 16 characters').optional(), {
    example: 'the output of: openssl rand -base64 32',
    description:
      'Encrypts backups, and decrypts them for a restore: random characters or a long pass phrase, kept apart from the backups; unset: not encrypted',
    secret: true,
  }),
  ADMIN_PASSWORD: variable(
    z.string().min(5, 'must have at least 5 characters').max(72).optional(),
    {
      example: 'a long password',
      description: 'Password of admin on the first start; default: a random one, printed once',
      secret: true,
    },
  ),
  DEMO: variable(onOff.optional(), {
    example: 'off',
    description:
      'The offline demo (simulated providers and models); default: on with the embedded database, else off; ALLOW_PRIVATE_MODEL_HOSTS must allow 127.0.0.1',
  }),
  LOG_LEVEL: variable(z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']), {
    default: 'info',
    example: 'debug',
    description: 'Least severe level that is logged',
  }),
  LOG_FORMAT: variable(z.enum(['auto', 'json', 'text']), {
    default: 'auto',
    example: 'json',
    description:
      'json or text; auto: text on a terminal, else json. npm start sets text where this is not set',
  }),
  TZ: variable(
    text.refine((zone) => isTimeZone(zone), 'must be a time zone of the IANA list'),
    {
      default: 'UTC',
      example: 'Europe/Berlin',
      description: 'Time zone of every time on the wire',
    },
  ),
  CURRENCY: variable(
    text.regex(/^[A-Z]{3}$/, 'must be a code of three capital letters (ISO 4217)'),
    {
      default: 'USD',
      example: 'EUR',
      description:
        'Currency of limits, and of prices that state none; set it before the first price',
    },
  ),
  CONSOLE: variable(onOff, {
    default: 'on',
    example: 'off',
    description: 'The web console at /, where the installation has its build',
  }),
  CORS_ORIGINS: variable(commaList, {
    default: '',
    example: 'https://app.example.com,https://admin.example.com',
    description: 'Origins of browsers that may call the API from another site; none by default',
  }),
  TRUST_PROXY: variable(wholeNumber(0, 10), {
    default: '0',
    example: '1',
    description: 'Number of reverse proxies that are trusted to report the client’s address',
  }),
  PUBLIC_URL: variable(baseAddress.optional(), {
    example: 'https://ai.example.com/api',
    description:
      'Address of the API as browsers reach it, with the path that a reverse proxy removes; default: that of each request',
  }),
  ALLOW_PRIVATE_MODEL_HOSTS: variable(commaList.optional(), {
    example: '10.0.0.0/8,ollama.internal',
    description:
      'Private addresses that models may have: CIDRs and names, or *; default: * with the embedded database, else none',
  }),
  HTTPS_PROXY: variable(proxyAddress, {
    example: 'http://user:password@proxy.internal:3128',
    description:
      'Proxy of calls to https addresses (CONNECT), with its user name and password percent-encoded; also https_proxy',
    secret: true,
    lowerCase: true,
  }),
  HTTP_PROXY: variable(proxyAddress, {
    example: 'http://proxy.internal:3128',
    description: 'Proxy of calls to http addresses; also http_proxy',
    secret: true,
    lowerCase: true,
  }),
  NO_PROXY: variable(hostList, {
    default: '',
    example: 'localhost,127.0.0.1,.internal,10.0.0.0/8',
    description:
      'Hosts that are called without a proxy: names with their subdomains, IP addresses, CIDRs, each with an optional port, or *; also no_proxy',
    lowerCase: true,
  }),
  OUTBOUND_ALLOWED_HOSTS: variable(hostList.optional(), {
    example: 'api.openai.com,*.azure.com',
    description:
      'The only hosts that models, sign-on and media may call: names, *.suffix, IP addresses, CIDRs, each with an optional port; default: every host',
  }),
  OUTBOUND_CA_FILE: variable(text.optional(), {
    example: '/etc/ssl/certs/company-ca.pem',
    description:
      'Certificates (PEM) of further authorities that outgoing calls trust, for example that of a proxy that inspects TLS; NODE_EXTRA_CA_CERTS of Node.js is for all connections',
  }),
  HOST_IDENTITY_TENANTS: variable(commaList, {
    default: '',
    example: '000000',
    description:
      'Tenants whose models may be called with the identity of this host (managed identity, instance profile, default credentials), or *; default: none',
  }),
  SHUTDOWN_DRAIN_SECONDS: variable(wholeNumber(0, 10 * MINUTE).optional(), {
    example: '10',
    description:
      'After SIGTERM: how long requests are still served while readiness answers 503, so that load balancers move on (seconds); default: 5 with DATABASE_URL, else 0',
  }),
  SHUTDOWN_GRACE_SECONDS: seconds(
    10,
    'How long open requests and streams may continue after the drain, and jobs after the signal',
  ),
  ORPHAN_SWEEP: variable(
    z.enum(['on', 'dry-run', 'off'], { error: 'must be on, dry-run or off' }),
    {
      default: 'on',
      example: 'dry-run',
      description:
        'Files without a record are set aside every hour; dry-run only logs which ones it would be',
    },
  ),
  USAGE_DETAIL_DAYS: count(
    90,
    'Usage ledger: how long each call of a model is a row; older ones are sums of their days (days)',
    3_650,
  ),
  USAGE_RETENTION_DAYS: count(
    1_100,
    'Usage ledger: how long anything is kept, at most; a tenant can set less (days)',
    36_500,
  ),
  AUDIT_EXPORT: variable(z.union([z.literal('stdout'), address('https:', 'http:')]).optional(), {
    example: 'https://splunk.example.com:8088/services/collector/event',
    description:
      'Audit log: where each entry is sent as JSON, stdout or the address of a receiver; unset: nowhere',
  }),
  AUDIT_EXPORT_FORMAT: variable(
    z.enum(['lines', 'splunk', 'elastic', 'datadog'], {
      error: 'must be lines, splunk, elastic or datadog',
    }),
    {
      default: 'lines',
      example: 'splunk',
      description:
        'Audit log: the body for the receiver: JSON Lines, events of Splunk HEC, _bulk of Elastic, logs of Datadog',
    },
  ),
  AUDIT_EXPORT_HEADER: variable(optionalHeader, {
    example: 'Authorization: Splunk 00000000-0000-0000-0000-000000000000',
    description: 'Audit log: the header with the token of the receiver, as name: value',
    secret: true,
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: variable(baseAddress.optional(), {
    example: 'https://otel.example.com:4318',
    description:
      'Traces: base address of a collector that takes OTLP over HTTP (protobuf) at /v1/traces; unset: no tracing',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: variable(keyValueList, {
    default: '',
    example: 'Authorization=Basic%20cGs6c2s=',
    description:
      'Traces: headers for the collector as key=value, percent-encoded, with commas between',
    secret: true,
  }),
  OTEL_SERVICE_NAME: variable(text, {
    default: 'plinth',
    example: 'plinth-staging',
    description: 'Traces: name of the service',
  }),
  OTEL_RESOURCE_ATTRIBUTES: variable(keyValueList, {
    default: '',
    example: 'deployment.environment.name=production',
    description: 'Traces: further attributes of the service as key=value with commas between',
  }),
  OTEL_TRACES_SAMPLER: variable(z.enum(TRACE_SAMPLERS), {
    default: 'parentbased_always_on',
    example: 'parentbased_traceidratio',
    description:
      'Traces: which requests are traced. parentbased_ follows the sampled flag of callers; without it callers have no say',
  }),
  OTEL_TRACES_SAMPLER_ARG: variable(share, {
    default: '1',
    example: '0.1',
    description: 'Traces: share of the requests that the traceidratio samplers choose, from 0 to 1',
  }),
  TRACE_MODEL_CALLS: variable(onOff, {
    default: 'off',
    example: 'on',
    description:
      'Traces: send traceparent (W3C) with calls of models, for services and gateways of your own that continue the trace',
  }),
  SMTP_URL: variable(url('smtp:', 'smtps:'), {
    example: 'smtps://plinth:password@mail.example.com',
    description: 'Mail server for notices; unset: no mail',
    secret: true,
  }),
  MAIL_FROM: variable(text.max(320).optional(), {
    example: 'Plinth <plinth@example.com>',
    description: 'Sender of mail; needed with SMTP_URL',
  }),
  UPLOAD_LIMIT_MB: count(50, 'Largest uploaded file (MiB)', 10_240),
  API_FILES_MB_PER_USER: count(1_024, 'Files of /v1/files of one user together (MiB)', 10_000_000),
  PARSE_WORKERS: count(1, 'Documents parsed at the same time per process', 64),
  PARSE_MEMORY_MB: variable(wholeNumber(64, 65_536), {
    default: '512',
    example: '1024',
    description:
      'Heap limit for parsing one document (MiB); buffers may take half as much in addition',
  }),
  PARSE_OFFICE: variable(text, {
    default: 'soffice',
    example: '/usr/bin/soffice',
    description:
      'Parsing: the program LibreOffice, which converts formats that are not read here (Word 95, Works, Publisher, drawings) where it is installed',
  }),
  OCR_LANGUAGES: variable(tesseractLanguages, {
    default: 'eng',
    example: 'eng+deu',
    description:
      'Text recognition: languages of the program tesseract, whose data must be installed',
  }),
  EXISTING_CONSOLES: variable(onOff, {
    default: 'on',
    example: 'off',
    description:
      'Routes that only existing consoles and apps call (menu, posts, configKey, event stream of notices, unlock by GET, unavailable ways to sign in); off: 404 and absent from the OpenAPI document',
  }),
  CAPTCHA: variable(onOff, {
    default: 'off',
    example: 'on',
    description: 'Ask for a captcha at login and registration',
  }),
  LOGIN_ATTEMPTS_PER_MINUTE: count(100, 'Sign-in attempts from one address per minute', 100_000),
  CHAT_STREAMS_PER_USER: count(
    20,
    'Chat: open streams and checks of files of one user, or of one service account with all of its keys, per process; half as many event streams of the harness',
    1_000_000,
  ),
  RESPONSE_RETENTION_DAYS: count(
    30,
    'How long responses of /v1/responses are kept after their conversation was last continued, at most; a tenant can set less (days)',
    3_650,
  ),
  CHAT_STREAMS: count(2_000, 'Chat: open streams per process', 1_000_000),
  AGENT_MAX_STEPS: count(
    12,
    'Agents: answers of a model that call tools, in one turn at most; an agent can have a lower limit',
    100,
  ),
  AGENT_MAX_TOKENS: variable(wholeNumber(1, 100_000_000).optional(), {
    example: '200000',
    description:
      'Agents: tokens of one turn with tools, of all calls of the model, after which it gets no more tools; default: no limit',
  }),
  EMBEDDING_CONCURRENCY: count(
    4,
    'Embedding: concurrent calls of one model per process for documents',
    100,
  ),
  IMAGE_SDK_URL: variable(address('https:', 'http:'), {
    default: 'https://dashscope.aliyuncs.com',
    example: 'https://dashscope-intl.aliyuncs.com',
    description: 'Media: service address of image_sdk, the same for all models',
  }),
  MEDIA_CONTENT_HOSTS: variable(hostPair, {
    default:
      'atlas-media.oss-us-west-1.aliyuncs.com,ark-acg-ap-southeast-1.tos-ap-southeast-1.volces.com',
    example: 'media.example.com,videos.example.com',
    description:
      'Media: the hosts that results are fetched from: one for images and audio, one for videos',
  }),
  HARNESS_ROOTS: variable(tenantFolders, {
    default: '',
    example: '/srv/workspaces,000001=/srv/acme',
    description:
      'Harness: folders below which a tenant may have workspaces, as tenantId=/folder; without a tenant that of 000000; default: DATA_DIR/workspaces/{tenantId} with the embedded database, else none',
  }),
  HARNESS_ASK_USER: variable(onOff, {
    default: 'off',
    example: 'on',
    description: 'Harness: let the model ask the user questions, for which the run waits',
  }),
  HARNESS_COMMAND_MEMORY_MB: count(
    4_096,
    'Harness: memory of a command, all its processes together; it is ended when it uses more (MiB)',
    1_048_576,
  ),
  HARNESS_RUNS: count(8, 'Harness: runs that one process executes at a time', 1_000),
  HARNESS_RUNS_PER_USER: count(2, 'Harness: runs of one user that are executed at a time', 1_000),
  HARNESS_RETENTION_DAYS: count(30, 'Harness: how long the events of a run are kept (days)', 3_650),
} satisfies Record<string, Variable>;

/** The groups of docs/CONFIGURATION.md; what is in none of them is rarely set. */
export const variableGroups = {
  Needed: [
    'PORT',
    'HOST',
    'ROLE',
    'WORKER_PORT',
    'DATA_DIR',
    'DATABASE_URL',
    'REDIS_URL',
    'QDRANT_URL',
    'QDRANT_API_KEY',
    'STORAGE_URL',
    'SECRET_KEY',
    'ADMIN_PASSWORD',
    'PUBLIC_URL',
    'TRUST_PROXY',
    'CORS_ORIGINS',
    'ALLOW_PRIVATE_MODEL_HOSTS',
    'HTTPS_PROXY',
    'HTTP_PROXY',
    'NO_PROXY',
    'TZ',
    'CURRENCY',
    'LOG_LEVEL',
    'LOG_FORMAT',
  ],
  Sizes: [
    'DATABASE_POOL_SIZE',
    'EXACT_VECTOR_MEMORY_MB',
    'UPLOAD_LIMIT_MB',
    'API_FILES_MB_PER_USER',
    'PARSE_WORKERS',
    'PARSE_MEMORY_MB',
    'CHAT_STREAMS',
    'CHAT_STREAMS_PER_USER',
    'AGENT_MAX_STEPS',
    'AGENT_MAX_TOKENS',
    'EMBEDDING_CONCURRENCY',
    'LOGIN_ATTEMPTS_PER_MINUTE',
    'HARNESS_RUNS',
    'HARNESS_RUNS_PER_USER',
    'HARNESS_COMMAND_MEMORY_MB',
  ],
  Features: [
    'DEMO',
    'CONSOLE',
    'CAPTCHA',
    'HARNESS_ROOTS',
    'HARNESS_ASK_USER',
    'OCR_LANGUAGES',
    'PARSE_OFFICE',
    'HOST_IDENTITY_TENANTS',
    'OUTBOUND_ALLOWED_HOSTS',
    'OUTBOUND_CA_FILE',
    'IMAGE_SDK_URL',
    'MEDIA_CONTENT_HOSTS',
    'SMTP_URL',
    'MAIL_FROM',
  ],
  Traces: [
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'OTEL_EXPORTER_OTLP_HEADERS',
    'OTEL_SERVICE_NAME',
    'OTEL_RESOURCE_ATTRIBUTES',
    'OTEL_TRACES_SAMPLER',
    'OTEL_TRACES_SAMPLER_ARG',
    'TRACE_MODEL_CALLS',
  ],
  Retention: [
    'USAGE_DETAIL_DAYS',
    'USAGE_RETENTION_DAYS',
    'RESPONSE_RETENTION_DAYS',
    'HARNESS_RETENTION_DAYS',
    'ORPHAN_SWEEP',
    'AUDIT_EXPORT',
    'AUDIT_EXPORT_FORMAT',
    'AUDIT_EXPORT_HEADER',
  ],
} satisfies Record<string, readonly (keyof typeof variables)[]>;

function isTimeZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}
