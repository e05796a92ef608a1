import type { VectorInstallation } from '../../../src/vector-store/qdrant/qdrant.collections.js';

/** The installation of the suites that need no other one beside it; its database knows no fragment. */
export const INSTALLATION: VectorInstallation = {
  id: '018f6a2e-0000-7000-8000-000000000001',
  countKnown: () => Promise.resolve(0),
};
