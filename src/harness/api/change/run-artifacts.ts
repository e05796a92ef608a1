import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import type { Caller } from '../../../platform/access/index.js';
import { NotFoundError } from '../../../platform/error/index.js';
import { RunService } from '../run/run.service.js';
import { Artifacts } from '../../change/artifacts.js';
import type { ArtifactContentQuery } from './change.dto.js';
import { toArtifactView } from './change.view.js';
import type { ArtifactView } from './change.view.js';

/** Types that a browser shows as a picture; everything else is sent as plain text, whatever it says it is. */
const PICTURES: ReadonlyMap<string, string> = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
]);

interface ArtifactRequest extends ArtifactContentQuery {
  readonly sessionId: string;
  readonly runId: string;
  readonly artifactId: string;
}

/** The artifacts of runs, for those who may see them. */
@Injectable()
export class RunArtifacts {
  constructor(
    private readonly runs: RunService,
    private readonly artifacts: Artifacts,
  ) {}

  /** Oldest first. */
  async list(caller: Caller, sessionId: string, runId: string): Promise<ArtifactView[]> {
    const { run } = await this.runs.own(caller, sessionId, runId);
    const artifacts = await this.artifacts.ofRun(run);
    return artifacts.map(toArtifactView);
  }

  /** Writes the bytes asked for as an attachment that no browser runs; none behind the end. */
  async send(caller: Caller, request: ArtifactRequest, response: Response): Promise<void> {
    const { sessionId, runId, artifactId, offset = 0, length = Infinity } = request;
    const { run } = await this.runs.own(caller, sessionId, runId);
    const found = await this.artifacts.find(run, artifactId);
    if (!found?.bytes) throw new NotFoundError('The artifact');
    const { mediaType } = found.artifact;
    const picture = PICTURES.get(mediaType);
    response.status(200).attachment(`${artifactId}.${picture ?? 'txt'}`);
    response.set({
      'Content-Security-Policy': "sandbox; default-src 'none'",
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'private, no-store',
    });
    // After attachment(), which sets the type that the name claims.
    response.setHeader('Content-Type', picture ? mediaType : 'text/plain; charset=utf-8');
    response.end(found.bytes.subarray(offset, offset + length));
  }
}
