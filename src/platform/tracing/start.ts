import type { TracedProcess, TracingSettings } from './otlp.js';

/** Starts tracing, and returns what ends it. The SDK is loaded here and nowhere else. */
export async function startTracing(
  settings: TracingSettings,
  process: TracedProcess,
): Promise<() => Promise<void>> {
  const { startExport } = await import('./otlp.js');
  return startExport(settings, process);
}
