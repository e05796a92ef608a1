import { Access1763683200001 } from './1-access.js';
import { Administration1763683200002 } from './2-administration.js';
import { Models1763683200003 } from './3-models.js';
import { Chat1763683200004 } from './4-chat.js';
import { Knowledge1763683200005 } from './5-knowledge.js';
import { Agents1763683200006 } from './6-agents.js';
import { KeywordIndex1763683200007 } from './7-keyword-index.js';
import { ExactVectors1763683200008 } from './8-exact-vectors.js';
import { TestSets1763683200009 } from './9-test-sets.js';
import { ChatSources1763683200010 } from './10-chat-sources.js';
import { FileOwners1763683200011 } from './11-file-owners.js';
import { Media1763683200012 } from './12-media.js';
import { Harness1763683200013 } from './13-harness.js';
import { ModelCredential1763683200014 } from './14-model-credential.js';
import { HarnessRuns1763683200015 } from './15-harness-runs.js';
import { TurnAnswers1763683200016 } from './16-turn-answers.js';
import { ForeignKeyIndexes1763683200017 } from './17-foreign-key-indexes.js';
import { Installation1763683200018 } from './18-installation.js';
import { ExistingClients1763683200019 } from './19-existing-clients.js';
import { AgentRuntime1763683200020 } from './20-agent-runtime.js';
import { ChatFiles1763683200021 } from './21-chat-files.js';
import { ChatBranches1763683200022 } from './22-chat-branches.js';
import { ResponseFormat1763683200023 } from './23-response-format.js';
import { ExportPermissions1763683200024 } from './24-export-permissions.js';
import { KnowledgeLanguage1763683200025 } from './25-knowledge-language.js';
import { KnowledgeDefaults1763683200026 } from './26-knowledge-defaults.js';
import { KnowledgeNeighbours1763683200027 } from './27-knowledge-neighbours.js';
import { DocumentMetadata1763683200028 } from './28-document-metadata.js';
import { KnowledgeOcr1763683200029 } from './29-knowledge-ocr.js';
import { LostVectors1763683200030 } from './30-lost-vectors.js';
import { AnswerTime1763683200031 } from './31-answer-time.js';
import { ApiKeys1763683200032 } from './32-api-keys.js';
import { Books1763683200033 } from './33-books.js';
import { StoredResponses1763683200036 } from './36-stored-responses.js';
import { SingleSignOn1763683200037 } from './37-single-sign-on.js';
import { SeededRoles1763683200039 } from './39-seeded-roles.js';
import { Limits1763683200040 } from './40-limits.js';
import { ModelFallbacks1763683200042 } from './42-model-fallbacks.js';
import { Provisioning1763683200044 } from './44-provisioning.js';
import { AttachmentFailure1763683200045 } from './45-attachment-failure.js';
import { BookedUsage1763683200047 } from './47-booked-usage.js';
import { AwaitedSince1763683200048 } from './48-awaited-since.js';
import { ProviderState1763683200049 } from './49-provider-state.js';
import { ModelFindings1763683200050 } from './50-model-findings.js';
import { ResponseItems1763683200052 } from './52-response-items.js';
import { ModelAuth1763683200053 } from './53-model-auth.js';
import { StrictParameters1763683200054 } from './54-strict-parameters.js';
import { GroupsOverage1763683200056 } from './56-groups-overage.js';
import { ApiFilesAndBatches1763683200057 } from './57-api-files-and-batches.js';
import { BatchPriceFactor1763683200058 } from './58-batch-price-factor.js';
import { StrictModels1763683200060 } from './60-strict-models.js';
import { ResponseEvents1763683200061 } from './61-response-events.js';
import { ChosenOverlap1763683200063 } from './63-chosen-overlap.js';
import { RecordRevisions1763683200064 } from './64-record-revisions.js';
import { StoreOwnership1763683200065 } from './65-store-ownership.js';
import { TurnProcess1763683200066 } from './66-turn-process.js';
import { VectorHomes1763683200067 } from './67-vector-homes.js';
import { FurtherRevisions1763683200069 } from './69-further-revisions.js';

/** In the order in which they run. */
export const migrations = [
  Access1763683200001,
  Administration1763683200002,
  Models1763683200003,
  Chat1763683200004,
  Knowledge1763683200005,
  Agents1763683200006,
  KeywordIndex1763683200007,
  ExactVectors1763683200008,
  TestSets1763683200009,
  ChatSources1763683200010,
  FileOwners1763683200011,
  Media1763683200012,
  Harness1763683200013,
  ModelCredential1763683200014,
  HarnessRuns1763683200015,
  TurnAnswers1763683200016,
  ForeignKeyIndexes1763683200017,
  Installation1763683200018,
  ExistingClients1763683200019,
  AgentRuntime1763683200020,
  ChatFiles1763683200021,
  ChatBranches1763683200022,
  ResponseFormat1763683200023,
  ExportPermissions1763683200024,
  KnowledgeLanguage1763683200025,
  KnowledgeDefaults1763683200026,
  KnowledgeNeighbours1763683200027,
  DocumentMetadata1763683200028,
  KnowledgeOcr1763683200029,
  LostVectors1763683200030,
  AnswerTime1763683200031,
  ApiKeys1763683200032,
  Books1763683200033,
  StoredResponses1763683200036,
  SingleSignOn1763683200037,
  SeededRoles1763683200039,
  Limits1763683200040,
  ModelFallbacks1763683200042,
  Provisioning1763683200044,
  AttachmentFailure1763683200045,
  BookedUsage1763683200047,
  AwaitedSince1763683200048,
  ProviderState1763683200049,
  ModelFindings1763683200050,
  ResponseItems1763683200052,
  ModelAuth1763683200053,
  StrictParameters1763683200054,
  GroupsOverage1763683200056,
  ApiFilesAndBatches1763683200057,
  BatchPriceFactor1763683200058,
  StrictModels1763683200060,
  ResponseEvents1763683200061,
  ChosenOverlap1763683200063,
  RecordRevisions1763683200064,
  StoreOwnership1763683200065,
  TurnProcess1763683200066,
  VectorHomes1763683200067,
  FurtherRevisions1763683200069,
];
