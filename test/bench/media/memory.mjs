// How much memory this process takes beyond what it had when it rested.
const SAMPLE_MS = 5;
const WATCH_MS = 50;

let rested = 0;
let most = 0;
let mostHeld = 0;

/** Answers the questions of the run: `rest` before a measurement, `memory` after it; `watch` makes `held` be read, too. */
export function answerAboutMemory(held) {
  setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), SAMPLE_MS).unref();
  process.on('message', (question) => {
    if (question === 'watch') {
      // Costs more than to read the memory, so it is not done while the speed is measured.
      setInterval(() => {
        void held().then((bytes) => (mostHeld = Math.max(mostHeld, bytes)));
      }, WATCH_MS).unref();
    }
    if (question === 'rest') {
      globalThis.gc();
      rested = process.memoryUsage.rss();
      most = rested;
      mostHeld = 0;
    }
    process.send({ added: most - rested, held: mostHeld });
  });
  process.once('disconnect', () => process.exit());
}
