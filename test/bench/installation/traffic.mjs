import { setTimeout as sleep } from 'node:timers/promises';
import { questions } from '../knowledge/corpus.mjs';
import { CutAnswer } from './client.mjs';
import { MODELS, upload } from './setting.mjs';

const LISTS = [
  '/system/user/list?pageSize=20',
  '/system/session/list?pageSize=20',
  '/system/model/list?pageSize=20',
  '/system/info/list?pageSize=20',
];
const STEADY_MS = 300_000;
const MAX_CAUSE_CHARS = 120;

/** What people and programs do at an installation, and everything that it has acknowledged to them. */
export class Traffic {
  #setting;
  #pauseMs;
  #users = [];
  #ended = false;
  #number = 0;
  /** One for each part of the day; a request belongs to that in which it ends. */
  phases = [];
  /** Acknowledged: sessions, answers with their texts, stored responses, uploads with their texts. */
  records = { sessions: [], answers: [], responses: [], documents: [] };
  /** Sessions whose answer has not arrived whole. */
  unanswered = [];
  /** When calls of chat models have ended well, for the usage ledger. */
  calls = [];

  constructor(setting, { pauseMs = 0 } = {}) {
    this.#setting = setting;
    this.#pauseMs = pauseMs;
    this.questions = questions(setting.texts, 200);
    this.phase('begin');
  }

  phase(name) {
    this.current = { name, requests: 0, failed: 0, cut: 0, causes: new Map(), times: {} };
    this.phases.push(this.current);
  }

  /** One user for each list of kinds, who does one after the other. */
  begin(users) {
    for (const kinds of users) this.#users.push(this.#repeat(kinds));
  }

  /** Resolves when every kind has so many more answers. */
  async steady(count = 3) {
    const begun = this.#counts();
    const deadline = Date.now() + STEADY_MS;
    for (;;) {
      const counts = this.#counts();
      const waiting = Object.keys(begun).filter((kind) => counts[kind] < begun[kind] + count);
      if (waiting.length === 0) return;
      if (Date.now() > deadline) {
        const causes = [...this.current.causes.keys()].join('; ');
        throw new Error(`No answers of ${waiting.join(', ')} for five minutes: ${causes}`);
      }
      await sleep(100);
    }
  }

  async end() {
    this.#ended = true;
    await Promise.all(this.#users);
  }

  /** A copy of what is acknowledged by now. */
  snapshot() {
    return Object.fromEntries(Object.entries(this.records).map(([kind, all]) => [kind, [...all]]));
  }

  #counts() {
    const counts = Object.fromEntries(Object.keys(this.kinds).map((kind) => [kind, 0]));
    for (const { times } of this.phases) {
      for (const [kind, all] of Object.entries(times)) counts[kind] += all.length;
    }
    return counts;
  }

  async #repeat(kinds) {
    for (let turn = 0; !this.#ended; turn += 1) {
      const kind = kinds[turn % kinds.length];
      const began = performance.now();
      try {
        await this.kinds[kind]();
        (this.current.times[kind] ??= []).push(performance.now() - began);
      } catch (error) {
        const outcome = error instanceof CutAnswer ? 'cut' : 'failed';
        this.current[outcome] += 1;
        const cause = `${kind}: ${error.message}`
          .replace(/\s+/g, ' ')
          .replace(/\d{4,}/g, 'N')
          .slice(0, MAX_CAUSE_CHARS);
        this.current.causes.set(cause, (this.current.causes.get(cause) ?? 0) + 1);
      }
      this.current.requests += 1;
      await sleep(this.#pauseMs);
    }
  }

  kinds = {
    chat: () => this.#chat(MODELS.short),
    longChat: () => this.#chat(MODELS.long),
    v1: async () => {
      const messages = [{ role: 'user', content: 'Hello' }];
      const body = { model: MODELS.short, stream: true, messages };
      await this.#setting.api.stream('/v1/chat/completions', body, '[DONE]');
      this.calls.push(Date.now());
    },
    response: async () => {
      const body = { model: MODELS.short, input: 'Hello', store: true };
      const text = await this.#setting.api.text('POST', '/v1/responses', body);
      this.records.responses.push(JSON.parse(text).id);
      this.calls.push(Date.now());
    },
    retrieval: async () => {
      const { admin, handbook } = this.#setting;
      const query = this.questions[this.#next() % this.questions.length];
      const body = { knowledgeId: String(handbook), query };
      const { data } = await admin.call('POST', '/system/fragment/retrieval', body);
      if (!JSON.stringify(data).includes('document-')) throw new Error('Retrieval found nothing.');
    },
    upload: async () => {
      const { admin, uploads } = this.#setting;
      const number = this.#next();
      const text = `Report ${number}: the word of this report is entry${number}.`;
      const [{ id }] = await upload(admin, uploads, [{ name: `report-${number}.txt`, text }]);
      this.records.documents.push({ id: Number(id), text });
    },
    list: async () => {
      await this.#setting.admin.call('GET', LISTS[this.#next() % LISTS.length]);
    },
  };

  async #chat(model) {
    const { admin } = this.#setting;
    const { data } = await admin.call('POST', '/system/session', { sessionTitle: 'Bench' });
    const sessionId = String(data);
    this.records.sessions.push(sessionId);
    const body = { model, content: 'Hello', sessionId };
    try {
      const text = await admin.stream('/chat/send', body, '"done":true');
      this.records.answers.push({ sessionId, text: contentOf(text) });
      this.calls.push(Date.now());
    } catch (error) {
      this.unanswered.push(sessionId);
      throw error;
    }
  }

  #next() {
    this.#number += 1;
    return this.#number;
  }
}

/** The text of the content events of an answer. */
function contentOf(stream) {
  const frames = stream.matchAll(/^event: content\ndata: (.*)$/gm);
  return [...frames].map(([, data]) => JSON.parse(data).content).join('');
}
