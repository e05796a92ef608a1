import fs, { mkdtemp, rm } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { Injectable } from '@nestjs/common';
import git, { Errors } from 'isomorphic-git';
import type { GitHttpRequest, GitHttpResponse } from 'isomorphic-git';
import { DomainError, InvalidInputError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';
import { limitedBody, OutboundHttp } from '../platform/outbound/index.js';
import type { OutboundTimeouts } from '../platform/outbound/index.js';
import { USER_AGENT } from './fetch.js';
import { matcherOf, prefixOf } from './files.js';
import { DEFAULT_PAGES } from './source.dto.js';
import type { SourceSettings } from './source.entity.js';
import { SourceRepository } from './source.repository.js';
import { SourceService } from './source.service.js';
import type { ConnectorRun } from './source.service.js';

const TIMEOUTS: OutboundTimeouts = { connectMs: 10_000, idleMs: 60_000, totalMs: 30 * 60_000 };
/** Bytes that a repository may send; they are in memory at once. */
const MAX_PACK_BYTES = 256 * 2 ** 20;
const SYMBOLIC_LINK = 0o120000;

interface RepositoryFile {
  readonly path: string;
  readonly oid: string;
}

/** Puts the files of a branch of a Git repository. The etag of a document is the id of its blob. */
@Injectable()
export class GitConnector {
  constructor(
    private readonly sources: SourceService,
    private readonly http: OutboundHttp,
    private readonly repository: SourceRepository,
  ) {}

  /** False if a limit has left files out. */
  async run(work: ConnectorRun): Promise<boolean> {
    const gitdir = await promisify(mkdtemp)(join(tmpdir(), 'plinth-git-'));
    try {
      const settings = work.source.settings;
      const commit = await this.fetch(work, settings, gitdir);
      const files = await filesOf(gitdir, commit, settings);
      const { maxPages = DEFAULT_PAGES } = settings;
      for (const file of files.slice(0, maxPages)) {
        work.signal.throwIfAborted();
        await this.put(work, settings, gitdir, file);
      }
      return files.length <= maxPages;
    } finally {
      await promisify(rm)(gitdir, { recursive: true, force: true });
    }
  }

  /** Reads the last commit of the branch, without its history. Answers its id. */
  private async fetch(
    { source, signal }: ConnectorRun,
    { address = '', branch = null }: SourceSettings,
    gitdir: string,
  ): Promise<string> {
    const { tenantId, id, secret } = source;
    const token = secret === null ? undefined : this.repository.tokens.open(tenantId, id, secret);
    try {
      await git.init({ fs, gitdir, bare: true });
      await git.addRemote({ fs, gitdir, remote: 'origin', url: address });
      const { fetchHead } = await git.fetch({
        fs,
        gitdir,
        remote: 'origin',
        http: { request: (request) => this.request(request, signal) },
        ...(branch !== null && { ref: branch }),
        singleBranch: true,
        depth: 1,
        tags: false,
        ...(token !== undefined && { onAuth: () => ({ username: 'token', password: token }) }),
      });
      if (fetchHead === null) throw new GitError('no commit');
      return fetchHead;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof DomainError) throw error;
      throw new GitError(reasonOf(error), error);
    }
  }

  private async put(
    work: ConnectorRun,
    { folder = '' }: SourceSettings,
    gitdir: string,
    { path, oid }: RepositoryFile,
  ): Promise<void> {
    const name = path.split('/').at(-1);
    const item = { externalId: path, name, etag: oid, metadata: { path: join('/', folder, path) } };
    await this.sources.putFile(work, item, async () => {
      const { blob } = await git.readBlob({ fs, gitdir, oid });
      return Readable.from([Buffer.from(blob)]);
    });
  }

  /** The HTTP of isomorphic-git. Redirects are refused, so that the token stays with the address. */
  private async request(
    { url, method = 'GET', headers = {}, body }: GitHttpRequest,
    signal: AbortSignal,
  ): Promise<GitHttpResponse> {
    const chunks: Uint8Array[] = [];
    if (body) for await (const chunk of body) chunks.push(chunk);
    const response = await this.http.request(url, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers: { ...headers, 'user-agent': `git/${USER_AGENT}` },
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      signal,
      timeouts: TIMEOUTS,
    });
    return {
      url,
      method,
      statusCode: response.status,
      statusMessage: '',
      headers: Object.fromEntries(
        Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
      ),
      body: limitedBody(response.body, MAX_PACK_BYTES),
    };
  }
}

/** The files of the commit that belong to the source, by their paths below its folder. */
async function filesOf(
  gitdir: string,
  commit: string,
  { folder = '', patterns = [] }: SourceSettings,
): Promise<RepositoryFile[]> {
  const matches = matcherOf(patterns);
  const prefix = prefixOf(folder);
  const files: RepositoryFile[] = [];
  await git.walk({
    fs,
    gitdir,
    trees: [git.TREE({ ref: commit })],
    map: async (path, [entry]) => {
      if (!entry) return null;
      if ((await entry.type()) === 'tree') {
        const isOnTheWay = path === '.' || prefix.startsWith(`${path}/`) || path.startsWith(prefix);
        return isOnTheWay ? path : null;
      }
      if ((await entry.type()) !== 'blob' || (await entry.mode()) === SYMBOLIC_LINK) return null;
      const below = path.startsWith(prefix) ? path.slice(prefix.length) : '';
      if (below !== '' && matches(below)) files.push({ path: below, oid: await entry.oid() });
      return path;
    },
  });
  return files.toSorted((one, other) => (one.path < other.path ? -1 : 1));
}

function reasonOf(error: unknown): string {
  if (error instanceof Errors.HttpError) return `HTTP ${error.data.statusCode}`;
  return error instanceof Error ? error.message : String(error);
}

class GitError extends InvalidInputError {
  constructor(reason: string, cause?: unknown) {
    super(
      msg`The repository could not be read (${reason}). Check its address, the branch and the token.`,
      { cause },
    );
  }
}
