import { parseArgs } from 'node:util';
import { startSimulator } from './index.js';

const DEFAULT_PORT = '6040';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: DEFAULT_PORT },
    host: { type: 'string', default: '127.0.0.1' },
  },
});

const simulator = await startSimulator({ port: Number(values.port), host: values.host });
process.stdout.write(`Model simulator listens on ${simulator.url}\n`);
// A parent that started it over IPC learns the address, which may hold a free port.
process.send?.({ url: simulator.url });

process.once('SIGTERM', stop);
process.once('SIGINT', stop);
// The channel closes when the parent ends, also when it had no time to say so.
process.once('disconnect', stop);
// Listening for that must not keep this process alive after it has stopped.
process.channel?.unref();

function stop(): void {
  // Closing the simulator leaves no open handle, so the process ends by itself.
  void simulator.close();
}
