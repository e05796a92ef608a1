import { Text, Whole } from '../../../platform/http/index.js';
import { SHA256 } from '../approval/approval.dto.js';

class PlanDecisionBody {
  @Text({ max: 64, description: 'taskId of the plan that was shown' })
  taskId: string;

  @Whole({ min: 0, description: 'expectedRevision of the plan that was shown' })
  expectedRevision: number;

  @Text({ ...SHA256, description: 'canonicalHash of the plan that was shown' })
  expectedHash: string;
}

export class ApprovePlanBody extends PlanDecisionBody {
  @Text({ max: 256, description: 'Of this decision; the same one again is answered alike' })
  idempotencyKey: string;
}

export class RevisePlanBody extends PlanDecisionBody {
  @Text({ max: 256, description: 'Of this request; the same one again is answered alike' })
  feedbackId: string;

  @Text({ max: 20_000, description: 'What the model should change' })
  content: string;
}
