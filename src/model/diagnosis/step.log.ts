import type { DiagnosisStep, DiagnosisStepView } from './diagnosis.view.js';

/** The steps of one diagnosis, each timed; a step that fails is kept with its reason and ends the run. */
export class StepLog {
  readonly steps: DiagnosisStepView[] = [];

  /** Runs one step and keeps what `describe` says of its result. Throws what the step throws. */
  async run<T>(
    step: DiagnosisStep,
    work: () => Promise<T> | T,
    describe: (result: T) => string,
  ): Promise<T> {
    const started = performance.now();
    try {
      const result = await work();
      this.add(step, true, started, describe(result));
      return result;
    } catch (error) {
      this.add(step, false, started, reasonOf(error));
      throw error;
    }
  }

  add(step: DiagnosisStep, ok: boolean, started: number, detail: string): void {
    this.steps.push({ step, ok, ms: Math.round(performance.now() - started), detail });
  }
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'It failed.';
}
