/** The servers that the tests use when they are given them, and what stands in for each otherwise. */
export const servers = [
  { variable: 'DATABASE_URL', without: 'the embedded database' },
  { variable: 'REDIS_URL', without: 'events and rate limits in process' },
  { variable: 'QDRANT_URL', without: 'a stand-in that checks the requests' },
];

/**
 * A suite's folder says where it runs. Every suite runs once; those that `repeat` run on the embedded store as well when
 * they have run on servers.
 */
export const places = [
  { name: 'unit', folders: ['src', 'simulator', 'acp/src', 'client/src'], onServers: false },
  {
    name: 'integration',
    folders: ['test/architecture', 'test/integration', 'test/e2e'],
    onServers: true,
  },
  { name: 'console', folders: ['test/console'], onServers: true },
  { name: 'contract', folders: ['test/contract'], onServers: true, repeat: true },
];

/** Folders with sources that the architecture test holds against the rules; nothing in them runs. */
export const notTested = ['test/architecture/violations'];
