import { Injectable, Logger } from '@nestjs/common';
import { wantedBy } from './glob.js';
import { NoRipgrepError, ripgrepProgram } from './ripgrep.js';
import { RipgrepEngine } from './ripgrep.engine.js';
import type { FilesQuery, FoundLine, SearchEngine, TextQuery } from './search.query.js';
import { ThreadEngine } from './thread.engine.js';

/** Looks through the files of a workspace, with ripgrep or, where there is none, in a thread of its own. */
@Injectable()
export class FileSearch implements SearchEngine {
  private readonly logger = new Logger(FileSearch.name);
  private readonly thread = new ThreadEngine();
  private chosen: Promise<SearchEngine> | undefined;

  async *lines(query: TextQuery, signal: AbortSignal): AsyncGenerator<FoundLine> {
    const isWanted = wantedBy(query);
    for await (const line of this.searched((engine) => engine.lines(query, signal))) {
      if (isWanted(line.path)) yield line;
    }
  }

  async *files(query: FilesQuery, signal: AbortSignal): AsyncGenerator<string> {
    const isWanted = wantedBy(query);
    for await (const path of this.searched((engine) => engine.files(query, signal))) {
      if (isWanted(path)) yield path;
    }
  }

  /** Undefined where there is none. */
  protected program(): Promise<string | undefined> {
    return ripgrepProgram();
  }

  private async *searched<T>(
    search: (engine: SearchEngine) => AsyncIterable<T>,
  ): AsyncGenerator<T> {
    this.chosen ??= this.choose();
    try {
      yield* search(await this.chosen);
    } catch (error) {
      if (!(error instanceof NoRipgrepError)) throw error;
      this.tell(error.cause);
      this.chosen = Promise.resolve(this.thread);
      yield* search(this.thread);
    }
  }

  private async choose(): Promise<SearchEngine> {
    const program = await this.program();
    if (program !== undefined) return new RipgrepEngine(program);
    this.tell(undefined);
    return this.thread;
  }

  private tell(err: unknown): void {
    this.logger.warn({
      msg: 'ripgrep is not to be had: searches in workspaces take longer. Install @vscode/ripgrep for this machine',
      err,
    });
  }
}
