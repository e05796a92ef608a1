import { QdrantClient } from '@qdrant/js-client-rest';

export const hits = new QdrantClient();
