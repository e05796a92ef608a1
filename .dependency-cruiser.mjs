/** The architecture: a folder imports only from folders listed before it. docs/ARCHITECTURE.md explains each one. */
const platform = [
  'config',
  'message',
  'error',
  'dependency',
  'tracing',
  'filesystem',
  'http',
  'outbound',
  'database',
  'redis',
  'queue',
  'event',
  'lease',
  'access',
  'observability',
  'console',
  'audit',
  'retention',
  'stream',
  'storage',
];
const features = [
  'identity',
  'grant',
  'dictionary',
  'provider',
  'usage',
  'notice',
  'model',
  'skill',
  'vector-store',
  'metadata',
  'knowledge',
  'fragment',
  'attach',
  'source',
  'retrieval',
  'langchain',
  'media',
  'effect',
  'mcp',
  'web',
  'agent',
  'apikey',
  'chat',
  'harness',
  'schedule',
  'compatible-api',
  'mcp-server',
  'oauth',
  'demo',
  'backup',
  // Last, so that no other folder imports it.
  'compat',
];
const layers = [...platform.map((name) => `platform/${name}`), ...features];

/** The rooms of folders that have an order inside. */
const rooms = {
  agent: ['format', 'tool', 'runtime'],
  attach: ['parser', 'recognition', 'parsing', 'reconciliation', 'preview', 'loader'],
  'compatible-api': ['answer', 'files', 'anthropic', 'openai', 'gemini', 'batch'],
  harness: [
    'protocol',
    'workspace',
    'sandbox',
    'store',
    'change',
    'tool',
    'context',
    'engine',
    'api',
  ],
  identity: [
    'access',
    'password',
    'client',
    'login-session',
    'role',
    'user',
    'tenant',
    'second-factor',
    'sign-in',
    'group',
    'scim',
    'sso',
  ],
};

const SPEC = '\\.spec\\.ts$';
const INDEX = '^src/(platform/)?[^/]+/index\\.ts$';
const LAYER = '^src/(platform/[^/]+|(?!platform/)[^/]+)/';

/** A rule for each folder of the list: it imports nothing from those after it. */
const inOrder = (name, base, list) =>
  list.slice(0, -1).map((folder, position) => ({
    name,
    comment: `${base}${folder} may import only from the folders listed before it in .dependency-cruiser.mjs.`,
    severity: 'error',
    from: { path: `^${base}${folder}/`, pathNot: SPEC },
    to: { path: `^${base}(${list.slice(position + 1).join('|')})/` },
  }));

export default {
  forbidden: [
    ...inOrder('layer-order', 'src/', layers),
    ...Object.entries(rooms).flatMap(([folder, list]) =>
      inOrder('room-order', `src/${folder}/`, list),
    ),
    ...Object.entries(rooms).map(([folder, list]) => ({
      name: 'known-room',
      comment: `A new folder of src/${folder} takes its place in the list of rooms first.`,
      severity: 'error',
      from: {},
      to: { path: `^src/${folder}/[^/]+/`, pathNot: `^src/${folder}/(${list.join('|')})/` },
    })),
    {
      name: 'known-layer',
      comment: 'A new folder of src takes its place in the list of layers first.',
      severity: 'error',
      from: {},
      to: { path: '^src/[^/]+/', pathNot: `^src/(${layers.join('|')})/` },
    },
    {
      name: 'features-below-the-root',
      comment: 'A feature never imports the files that put the features together.',
      severity: 'error',
      from: { path: LAYER, pathNot: SPEC },
      to: { path: '^src/[^/]+\\.ts$' },
    },
    {
      name: 'rooms-below-the-root',
      comment:
        'A room never imports the files that put the rooms together: they would lead it to every other room.',
      severity: 'error',
      from: { path: '^src/(compatible-api|harness|identity)/[^/]+/', pathNot: SPEC },
      to: { path: '^src/$1/[^/]+\\.ts$' },
    },
    {
      name: 'through-the-index',
      comment: 'A folder is entered through its index.ts; what that does not export is private.',
      severity: 'error',
      from: { path: LAYER },
      // The splitter has an index of its own: the worker threads that split load nothing but it.
      to: {
        path: '^src/[^/]+/',
        pathNot: ['^src/$1/', INDEX, '^src/fragment/splitter/index\\.ts$'],
      },
    },
    {
      name: 'through-the-index-from-outside',
      comment: 'The root of src and the programs beside it import through index.ts, too.',
      severity: 'error',
      from: { path: '^(src/[^/]+\\.ts|ormconfig\\.ts)$' },
      to: { path: '^src/[^/]+/', pathNot: INDEX },
    },
    {
      name: 'no-cycle',
      comment: 'A cycle means that none of its files can be understood, tested or loaded alone.',
      severity: 'error',
      // The frame of the console names its pages, and they name the frame's router.
      from: { pathNot: '^(client/src/generated|web/src/app)/' },
      to: { circular: true },
    },
    {
      name: 'no-orphan',
      comment: 'Nobody imports the file and it imports nothing: it is dead, or not wired up.',
      severity: 'error',
      from: {
        orphan: true,
        path: '^(src|simulator|acp|client|web)/',
        pathNot: [SPEC, '\\.d\\.ts$', '^web/public/'],
      },
      to: {},
    },
    {
      name: 'src-stands-alone',
      comment: 'The service ships without tests, simulator, console sources and scripts.',
      severity: 'error',
      from: { path: '^src/', pathNot: SPEC },
      to: { path: '^(test|simulator|acp|client|web|scripts)/' },
    },
    {
      name: 'simulator-stands-alone',
      comment: 'The stand-in must not inherit the mistakes of what it is a stand-in for.',
      severity: 'error',
      from: { path: '^simulator/', pathNot: SPEC },
      to: { path: '^(src|test|acp|client|web|scripts)/' },
    },
    {
      name: 'client-stands-alone',
      comment: 'The package is installed elsewhere: it knows the service by its document only.',
      severity: 'error',
      from: { path: '^client/' },
      to: { path: '^(src|test|simulator|acp|web|scripts)/' },
    },
    {
      name: 'through-the-client',
      comment:
        'The console and the agent of editors use what every other client can use: import @plinth/client.',
      severity: 'error',
      from: { path: '^(acp|web)/' },
      to: { path: '^((src|test|simulator|scripts)/|client/(?!dist/))' },
    },
    {
      name: 'production-packages-only',
      comment: 'The image is installed without the packages of development.',
      severity: 'error',
      from: { path: '^(src|simulator)/', pathNot: SPEC },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'sql-in-repositories',
      comment: 'Queries live in *.repository.ts; entities take only the decorators of TypeORM.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: ['^src/platform/database/', '\\.(repository|entity)\\.ts$', SPEC],
      },
      to: { path: 'node_modules/typeorm/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'entities-in-modules',
      comment:
        'Modules register entities; a repository takes Database, which joins the open transaction. An injected repository of TypeORM would wait for it for ever on the embedded store.',
      severity: 'error',
      from: { path: '^src/', pathNot: ['\\.module\\.ts$', SPEC] },
      to: { path: 'node_modules/@nestjs/typeorm/' },
    },
    {
      name: 'one-way-to-each-store',
      comment:
        'Drivers are hidden behind src/platform/database, src/platform/redis, src/platform/queue and src/vector-store.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: ['^src/(platform/(database|redis|queue)|vector-store)/', SPEC],
      },
      to: {
        path: 'node_modules/(pg|ioredis|bull|@nestjs/bull|@electric-sql|@qdrant)/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'calls-through-outbound',
      comment:
        'src/platform/outbound gives every call its time-out, its abort and its address check.',
      severity: 'error',
      // The application makes a request of no connection; the diagnosis of a model connects where the address check lets it.
      from: {
        path: '^src/',
        pathNot: [
          '^src/platform/outbound/',
          '^src/(app|model/diagnosis/connection\\.probe)\\.ts$',
          SPEC,
        ],
      },
      to: {
        path: 'node_modules/undici/|^(node:)?(https?|http2|tls)$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'pure-mapping',
      comment:
        'What maps between our words and the wire does no I/O; model-call.ts and media-exchange.ts do it.',
      severity: 'error',
      from: { path: '/adapter/.+\\.protocol\\.ts$' },
      to: {
        path: '^src/platform/(outbound|database|queue|event|storage)/|node_modules/undici/|^(node:)?(https?|net|fs|fs/promises|child_process)$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'resolvable',
      comment: 'The path leads nowhere.',
      severity: 'error',
      from: {},
      // The exports of numfmt name declarations that the package has under another name.
      to: { couldNotResolve: true, pathNot: '^numfmt$' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|test/architecture/violations)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      mainFields: ['module', 'main', 'types'],
    },
  },
};
