import fs from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import git from 'isomorphic-git';

const SERVICE = 'git-upload-pack';
/** Bytes of one packet of the side band (gitprotocol-pack(5): at most 65,520 with its length). */
const BAND_BYTES = 60_000;

/**
 * A Git server with one repository, over the smart HTTP protocol (gitprotocol-http(5), gitprotocol-pack(5); read 2026-11-28). It needs
 * no git on the machine: the pack is made by isomorphic-git.
 */
export class GitServer {
  /** Requests, and the credentials that they had. */
  readonly requests: { readonly path: string; readonly authorization: string | undefined }[] = [];
  token: string | undefined;

  private constructor(
    private readonly dir: string,
    private readonly server: Server,
  ) {}

  static async start(): Promise<GitServer> {
    const dir = await mkdtemp(join(tmpdir(), 'plinth-git-server-'));
    await git.init({ fs, dir, defaultBranch: 'main' });
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const started = new GitServer(dir, server);
    server.on('request', (request, response) => void started.answer(request, response));
    return started;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/repository.git`;
  }

  /** Makes a commit with the files; null removes one. */
  async commit(files: Readonly<Record<string, string | null>>): Promise<void> {
    const { dir } = this;
    for (const [filepath, content] of Object.entries(files)) {
      if (content === null) {
        await rm(join(dir, filepath));
        await git.remove({ fs, dir, filepath });
        continue;
      }
      await mkdir(dirname(join(dir, filepath)), { recursive: true });
      await writeFile(join(dir, filepath), content);
      await git.add({ fs, dir, filepath });
    }
    await git.commit({ fs, dir, message: 'A change', author: { name: 'Ada', email: 'ada@x.org' } });
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
    await rm(this.dir, { recursive: true, force: true });
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '', headers } = request;
    this.requests.push({ path: url, authorization: headers.authorization });
    const expected = `Basic ${Buffer.from(`token:${this.token}`).toString('base64')}`;
    if (this.token !== undefined && headers.authorization !== expected) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    const oid = await git.resolveRef({ fs, dir: this.dir, ref: 'HEAD' });
    if (url.endsWith(`/info/refs?service=${SERVICE}`)) {
      response.writeHead(200, { 'content-type': `application/x-${SERVICE}-advertisement` });
      const able = 'side-band-64k shallow symref=HEAD:refs/heads/main agent=test';
      response.end(
        [
          line(`# service=${SERVICE}\n`),
          '0000',
          line(`${oid} HEAD\0${able}\n`),
          line(`${oid} refs/heads/main\n`),
          '0000',
        ].join(''),
      );
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const asked = Buffer.concat(chunks).toString();
    response.writeHead(200, { 'content-type': `application/x-${SERVICE}-result` });
    if (asked.includes('deepen')) response.write(`${line(`shallow ${oid}`)}0000`);
    response.write(line('NAK\n'));
    const pack = Buffer.from(await this.pack(oid));
    for (let at = 0; at < pack.length; at += BAND_BYTES) {
      const part = pack.subarray(at, at + BAND_BYTES);
      response.write(lengthOf(part.length + 1));
      response.write(Buffer.concat([Buffer.from([1]), part]));
    }
    response.end('0000');
  }

  /** The objects of the commit without its history. */
  private async pack(commit: string): Promise<Uint8Array> {
    const { dir } = this;
    const oids = new Set([commit]);
    await git.walk({
      fs,
      dir,
      trees: [git.TREE({ ref: commit })],
      map: async (path, [entry]) => {
        if (entry) oids.add(await entry.oid());
        return path;
      },
    });
    const { packfile } = await git.packObjects({ fs, dir, oids: [...oids] });
    if (!packfile) throw new Error('No pack was made.');
    return packfile;
  }
}

function line(text: string): string {
  return lengthOf(Buffer.byteLength(text)) + text;
}

function lengthOf(bytes: number): string {
  return (bytes + 4).toString(16).padStart(4, '0');
}
