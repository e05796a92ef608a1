import type { Script } from '../behaviour/script.js';
import { UnknownBehaviour } from '../behaviour/vocabulary.js';
import type { Exchange } from './exchange.js';
import type { Recorder } from './recorder.js';
import { replyJson } from './reply.js';

/** Parts of the simulator that the control routes change. */
interface Controlled {
  readonly script: Script;
  readonly recorder: Recorder;
  openConnections(): number;
  release(): void;
  reset(): void;
}

export function isControlPath(path: string): boolean {
  return path.startsWith('/__');
}

/** Answers `/__script`, `/__release`, `/__reset`, `/__requests` and `/__stats`; these are never recorded. */
export async function answerControl(exchange: Exchange, simulator: Controlled): Promise<void> {
  switch (`${exchange.method} ${exchange.path}`) {
    case 'POST /__script':
      return addSteps(exchange, simulator.script);
    case 'POST /__release':
      simulator.release();
      return replyJson(exchange, 200, { released: true });
    case 'POST /__reset':
      simulator.reset();
      return replyJson(exchange, 200, { reset: true });
    case 'GET /__requests':
      return replyJson(exchange, 200, simulator.recorder.toJson());
    case 'GET /__stats':
      return replyJson(exchange, 200, {
        open: simulator.openConnections(),
        total: simulator.recorder.total,
      });
    default:
      return replyJson(exchange, 404, { error: `No control route ${exchange.path}` });
  }
}

async function addSteps(exchange: Exchange, script: Script): Promise<void> {
  try {
    const queued = script.addJson(exchange.recording.body);
    await replyJson(exchange, 200, { queued });
  } catch (error) {
    if (!(error instanceof UnknownBehaviour)) throw error;
    await replyJson(exchange, 400, { error: error.message });
  }
}
