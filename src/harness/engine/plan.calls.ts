import { Injectable } from '@nestjs/common';
import { planApprovalNeeded } from '../protocol/policy.js';
import type { HarnessEffect } from '../store/harness.entity.js';
import { stepIdOf } from '../store/event.catalogue.js';
import type { RunWriter } from '../store/run-writer.js';
import { RunLedger } from '../store/run.ledger.js';
import { planData, proposalEvents } from '../store/plan.events.js';
import type { Plan } from '../protocol/plan.js';
import { RunInputRepository } from '../store/run-input.repository.js';
import type { BoundCall, Question, RunToolDecision, ToolContext } from '../tool/tool.js';
import { doneOutcome } from './call.outcome.js';
import { CallRecord } from './call.record.js';
import type { CallResult, CallTurn } from './call.turn.js';
import { InputIntake } from './input.intake.js';

type PlanCall = Extract<BoundCall, { effectClass: 'META' }>;

interface Work {
  readonly call: PlanCall;
  readonly context: ToolContext;
  readonly started: number;
}

/** Carries out calls that change the run itself: its plan, and its questions. */
@Injectable()
export class PlanCalls {
  constructor(
    private readonly ledger: RunLedger,
    private readonly record: CallRecord,
    private readonly inputs: RunInputRepository,
    private readonly intake: InputIntake,
  ) {}

  async carryOut(turn: CallTurn, effect: HarnessEffect, work: Work): Promise<CallResult> {
    const decision = await work.call.decide(work.context);
    const durationMs = performance.now() - work.started;
    switch (decision.kind) {
      case 'answer':
        await this.record.write(turn, effect, {
          outcome: doneOutcome(decision.outcome),
          durationMs,
        });
        return { kind: 'done' };
      case 'update-plan': {
        const outcome = doneOutcome(decision.outcome);
        await this.record.write(turn, effect, { outcome, durationMs }, (writer) => {
          writer.set({ plan: decision.plan });
          writer.event('plan.updated', planData(decision.plan), {
            stepId: stepIdOf(effect.iteration),
          });
        });
        return { kind: 'done' };
      }
      case 'propose-plan':
        return this.propose(turn, effect, { decision, durationMs });
      case 'ask':
        return this.ask(turn, effect, { question: decision.question, durationMs });
    }
  }

  private async propose(
    turn: CallTurn,
    effect: HarnessEffect,
    what: {
      readonly decision: Extract<RunToolDecision, { kind: 'propose-plan' }>;
      readonly durationMs: number;
    },
  ): Promise<CallResult> {
    const { plan, summary } = what.decision;
    const isReviewed = planApprovalNeeded(turn.run);
    const content = isReviewed
      ? 'The plan is submitted. A person reviews it now; what follows tells whether it is approved.'
      : 'The plan is approved. Carry it out now.';
    const outcome = doneOutcome({ content, summary });
    const reviewState = isReviewed ? 'AWAITING_APPROVAL' : 'APPROVED';
    await this.record.write(turn, effect, { outcome, durationMs: what.durationMs }, (writer) =>
      submit(writer, { ...plan, reviewState }),
    );
    return { kind: isReviewed ? 'parked' : 'done' };
  }

  /**
   * Parks the run with the question; once it is answered, the answer is the call's result. What was said before the
   * question was there answers nothing: it is taken in when the run parks, so that any STEER after that is an answer.
   */
  private async ask(
    turn: CallTurn,
    effect: HarnessEffect,
    { question, durationMs }: { readonly question: Question; readonly durationMs: number },
  ): Promise<CallResult> {
    const { held, run } = turn;
    const { toolCallId } = effect;
    const isAsked = run.question?.toolCallId === toolCallId;
    const said = isAsked ? await this.inputs.pending(run) : [];
    const answer = said.find(({ kind }) => kind === 'STEER');
    if (answer) {
      const outcome = doneOutcome({
        content: `The user answers:\n${answer.content}`,
        summary: 'answered',
      });
      await this.record.write(turn, effect, { outcome, durationMs }, async (writer, messageId) => {
        await this.inputs.consume(run, [answer.id]);
        writer.set({ question: null });
        const data = { inputId: answer.id, kind: answer.kind, messageId };
        writer.event('input.consumed', data, { toolCallId });
      });
      return { kind: 'done' };
    }
    await this.ledger.asOwner(held.lease, async (writer) => {
      await this.intake.takeIn(writer, 'STEER');
      writer.set({ question: { toolCallId, ...question } });
      writer.park('QUESTION');
      const data = { ...writer.statusData, reason: 'question', question: question.text } as const;
      writer.event('run.waiting_for_input', data, { toolCallId });
    });
    return { kind: 'parked' };
  }
}

/** Writes the plan down, and either parks the run for its review or goes on to build. */
function submit(writer: RunWriter, plan: Plan): void {
  writer.set({ plan });
  writer.events(proposalEvents(plan));
  if (plan.reviewState === 'APPROVED') {
    writer.build();
    return;
  }
  writer.park('PLAN');
  writer.event('run.waiting_for_input', { ...writer.statusData, reason: 'plan' });
}
